/** Migrations for the tests of `npm start`: they only check what they are given. */
const { MIGRATION_DATABASE_URL, DATABASE_URL } = process.env;
if (!URL.canParse(MIGRATION_DATABASE_URL ?? '') || !URL.canParse(DATABASE_URL ?? '')) {
  process.stderr.write('no database was given\n');
  process.exit(1);
}
