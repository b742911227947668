// Lets a child process run the sources as they are: an import of ./x.js finds ./x.ts. Types are stripped by Node.
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (!specifier.startsWith('.') || !specifier.endsWith('.js')) return nextResolve(specifier, context);
    const source = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
    return existsSync(fileURLToPath(source)) ? nextResolve(source.href, context) : nextResolve(specifier, context);
  },
});
