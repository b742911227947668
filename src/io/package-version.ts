/** The version of this package, for the User-Agent of uploads that no command line started. */
import { readFileSync } from 'node:fs';

/** As package.json has it, which lies two directories above in the sources and in the build. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return version;
}
