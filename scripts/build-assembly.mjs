// Compiles assembly/<name>/index.ts to assembly/<name>.wasm with AssemblyScript. The result is committed: a user of the
// package needs no compiler, and CI fails when a rebuild differs.
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import asc from 'assemblyscript/asc';

const root = fileURLToPath(new URL('..', import.meta.url));
const names = readdirSync(`${root}assembly`).filter((name) => existsSync(`${root}assembly/${name}/index.ts`));

for (const name of names) {
  const { error, stderr } = await asc.main([
    `assembly/${name}/index.ts`,
    ...['--baseDir', root],
    ...['--outFile', `assembly/${name}.wasm`],
    // No runtime: the modules allocate nothing, each lays out its memory by hand.
    ...['--runtime', 'stub'],
    ...['--enable', 'simd'],
    ...['--optimizeLevel', '3', '--shrinkLevel', '0', '--converge'],
    '--noAssert',
  ]);
  if (error) {
    process.stderr.write(`${stderr.toString()}\n${error.message}\n`);
    process.exit(1);
  }
}
