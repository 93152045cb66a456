/**
 * fabric-shim loads yargs for a command line that we do not use, and yargs reads `__dirname` while loading (to find
 * translations). CommonJS defines it; a bundle is one ES module and does not. Import this before fabric-shim.
 */
Object.assign(globalThis, { __dirname: import.meta.dirname });
