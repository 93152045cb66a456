import nx from '@nx/eslint-plugin';
import prettier from 'eslint-config-prettier';
import tseslint from 'typescript-eslint';

/** Allowed imports by the tags in each project.json. A tag that is missing here may import none of our projects. */
const mayImport = {
  'type:base': ['type:base'],
  'type:adapter': ['type:base', 'type:adapter'],
  'type:host': ['type:base', 'type:host'],
  'type:app': ['type:base', 'type:adapter', 'type:host'],
  // Code for browsers: the verifier's checks, and nothing that needs Node.
  'type:pages': ['type:base', 'type:client', 'type:verifier'],
  'type:client': ['type:base'],
  'type:contract': ['type:base'],
  'type:tool': ['type:base', 'type:adapter', 'type:host', 'type:local'],
  'type:verifier': ['type:base'],
  'type:testing': ['type:local'],
  'type:local': ['type:local'],
  // Black-box tests have what an outsider has: the client and the verifier.
  'type:e2e': ['type:client', 'type:testing', 'type:local', 'type:verifier'],
};

const boundaries = (alsoAllowed) => [
  'error',
  {
    // Platform-specific modules of a library, selected by the conditions of its package.json.
    allow: ['#platform', '#ed25519'],
    enforceBuildableLibDependency: false,
    banTransitiveDependencies: true,
    // Only tests of the local services import the testing library, which depends on them.
    ignoredCircularDependencies: [['local-services', 'testing']],
    depConstraints: Object.entries(mayImport).map(([sourceTag, tags]) => ({
      sourceTag,
      onlyDependOnLibsWithTags: [...tags, ...alsoAllowed],
    })),
  },
];

/** Packages that only the named folders import; all other code uses them through our libraries. */
const owned = [
  // Rate limits are Express middleware, so they use its types; the benchmarks compare with it, and the client's gate
  // middleware is tested with it.
  {
    name: 'express',
    owners: ['libs/http', 'libs/client', 'tools/bench'],
    typesFor: ['libs/rate-limits'],
    instead: '@sealgate/http',
  },
  {
    name: 'pg',
    // The stories judge rows by a reader that has none of our code.
    owners: ['libs/storage', 'libs/ledger/embedded', 'libs/local-services', 'libs/testing', 'apps/e2e'],
    instead: '@sealgate/storage',
  },
  { name: 'jose', owners: ['libs/identity', 'libs/testing'], instead: '@sealgate/identity' },
  { name: 'ioredis', owners: ['libs/storage', 'libs/rate-limits', 'libs/testing'], instead: '@sealgate/storage' },
  // The benchmarks compare with the client; the fake gateway peer implements its server side; the stories judge blocks by
  // a reader that has none of our code; tests of the verifier make what peers sign.
  ...['@hyperledger/fabric-gateway', '@hyperledger/fabric-protos', '@grpc/grpc-js'].map((name) => ({
    name,
    owners: [
      ...['libs/ledger/fabric', 'libs/local-services', 'libs/testing', 'tools/bench', 'tools/fabric-devnet'],
      ...['apps/e2e', 'tools/verify/src/testing'],
    ],
    instead: '@sealgate/ledger-fabric',
  })),
];

const restrictedPaths = (folder) =>
  owned
    .filter(({ owners }) => !owners.includes(folder))
    .map(({ name, typesFor = [], instead }) => ({
      name,
      message: `Only its owners import ${name}; use ${instead}.`,
      allowTypeImports: typesFor.includes(folder),
    }));

/** A rule cannot be set twice for a file, so each folder with an exception gets the whole remaining list. */
const restrictImports = (folder, patterns = []) => ['error', { paths: restrictedPaths(folder), patterns }];

const ownersOf = [...new Set(owned.flatMap(({ owners, typesFor = [] }) => [...owners, ...typesFor]))];

const restrictedSyntax = [
  { selector: 'ExportDefaultDeclaration', message: 'Export by name.' },
  {
    selector: 'ImportDeclaration[source.value=/^(node:)?process$/]',
    message: 'Pass what you need as an argument, or use the global where it is allowed.',
  },
];

/** Attributes of elements, and members of columns, menus and notices, that people read. */
const shownNames =
  '/^(label|title|description|placeholder|aria-label|alt|legend|intro|action|empty|message|closing|closeButtonLabel|searches|emptyText|mintTitle|revokedText|question|words|says)$/';
const shownPlaces = [
  'JSXElement > JSXExpressionContainer',
  'JSXFragment > JSXExpressionContainer',
  `JSXAttribute[name.name=${shownNames}]`,
  `JSXAttribute[name.name=${shownNames}] > JSXExpressionContainer`,
];
const shownMembers = [`Property[key.name=${shownNames}]`, `Property[key.value=${shownNames}]`];
const letters = '/[A-Za-z]/';
const literal = `:matches(Literal[value=${letters}], TemplateLiteral:has(> TemplateElement[value.raw=${letters}]))`;

/** Texts of the console stand in the modules `texts.ts` alone, where they can be translated. */
const literalTexts = [
  `JSXText[value=${letters}]`,
  ...shownPlaces.map((place) => `${place} > ${literal}`),
  ...shownPlaces.map((place) => `${place} > :matches(ConditionalExpression, LogicalExpression) > ${literal}`),
  ...shownMembers.map((member) => `${member} > ${literal}.value`),
  ...shownMembers.map((member) => `${member} > :matches(ConditionalExpression, LogicalExpression).value > ${literal}`),
].map((selector) => ({ selector, message: 'Name the text in texts.ts of this folder.' }));

/** Files that only tests run: specs, shared contract suites, fixtures. */
const testFiles = [
  '**/*.{spec,contract,fixture,bench}.ts',
  '**/*-contract.ts',
  '{apps,libs,tools}/**/{test,testing}/**/*.ts',
  'apps/e2e/**/*.ts',
];

const readsTheProcess = [
  'apps/*/src/{main,config,migrate}.ts',
  'apps/e2e/**/*.ts',
  'libs/{local-services,testing,service-host}/**/*.ts',
  'tools/**/*.ts',
  ...testFiles,
];

export default tseslint.config(
  // `dist.1234` and `generated.1234` are outputs that process 1234 is still writing.
  { ignores: ['**/node_modules', '**/{dist,generated}{,.*}', '**/tmp', '.nx', '.sealgate', 'coverage'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  tseslint.configs.recommended,
  {
    files: ['**/*.{ts,tsx}'],
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.json', './apps/console/web/tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    plugins: { '@nx': nx },
    rules: {
      '@nx/enforce-module-boundaries': boundaries([]),
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      // Loops within bounds use `rows[index]!` because of `noUncheckedIndexedAccess`.
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unnecessary-type-assertion': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      // The house style aims lower (10, 50 lines, three parameters); these are hard limits.
      complexity: ['error', 15],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'max-lines': ['error', { max: 300, skipComments: true, skipBlankLines: true }],
      'max-params': ['error', 4],
      'no-console': 'error',
      'no-control-regex': 'error',
      '@typescript-eslint/no-restricted-imports': restrictImports(''),
      'no-restricted-syntax': ['error', ...restrictedSyntax],
    },
  },
  {
    files: ['**/*.{ts,tsx}'],
    ignores: [...testFiles, 'apps/*/src/routes/*.ts'],
    rules: { 'max-lines-per-function': ['error', { max: 80, skipComments: true, skipBlankLines: true }] },
  },
  {
    files: ['{apps,libs}/**/*.{ts,tsx}'],
    ignores: readsTheProcess,
    rules: {
      'no-restricted-globals': [
        'error',
        { name: 'process', message: 'Pass it as an argument: only main.ts and config.ts of an app use the process.' },
      ],
    },
  },
  {
    files: ['apps/console/web/**/*.{ts,tsx}'],
    ignores: ['**/*texts.ts', '**/*.config.ts', ...testFiles],
    rules: { 'no-restricted-syntax': ['error', ...restrictedSyntax, ...literalTexts] },
  },
  ...ownersOf.map((folder) => ({
    files: [`${folder}/**/*.ts`],
    rules: { '@typescript-eslint/no-restricted-imports': restrictImports(folder) },
  })),
  {
    files: ['tools/verify/**/*.ts'],
    ignores: testFiles,
    rules: {
      '@typescript-eslint/no-restricted-imports': restrictImports('', [
        {
          regex: '^@sealgate/(?!(json|envelope|merkle|errors)$)',
          message: 'The verifier imports only these, so that an outsider can read all its code.',
        },
      ]),
    },
  },
  {
    files: ['apps/*/src/domain/**/*.ts'],
    ignores: testFiles,
    rules: {
      '@typescript-eslint/no-restricted-imports': restrictImports('', [
        {
          group: ['**/routes/**', '**/data/**', '**/generated/**', '@prisma/*', '@sealgate/http', '@sealgate/storage'],
          message: 'The domain declares the interfaces it needs; routes and data implement them.',
        },
      ]),
    },
  },
  {
    files: testFiles,
    rules: { '@nx/enforce-module-boundaries': boundaries(['type:testing']), 'max-params': 'off' },
  },
  { files: ['**/*.bench.ts', 'tools/bench/**/*.ts'], rules: { 'no-console': 'off' } },
  { files: ['**/*.config.ts'], rules: { 'no-restricted-syntax': 'off' } },
  { files: ['**/*.{mjs,js}'], rules: { '@typescript-eslint/no-require-imports': 'error' } },
  prettier,
);
