/**
 * fabric-shim loads yargs for a command line that we do not use, and yargs asks for its folder (to find translations)
 * while it is loaded. CommonJS has `__dirname`; a bundle is one ES module and has not. Import this before fabric-shim.
 */
Object.assign(globalThis, { __dirname: import.meta.dirname });
