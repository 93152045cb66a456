/** A surface for the tests of `npm start`: three listeners, readiness, an end on SIGTERM, and a way to make it die. */
import { createServer } from 'node:http';

const { PORT, OPS_PORT, ADMIN_PORT, DATABASE_URL, FAIL_WITH } = process.env;
if (FAIL_WITH !== undefined) {
  process.stdout.write(`${JSON.stringify({ level: 'error', error: FAIL_WITH })}\n`);
  process.exit(1);
}
const answer = (request, response) => {
  if (request.url === '/die') process.exit(3);
  response.end(JSON.stringify({ databaseUrl: DATABASE_URL, variables: Object.keys(process.env).sort() }));
};
const servers = [PORT, OPS_PORT, ADMIN_PORT].map((port) => createServer(answer).listen(Number(port), '127.0.0.1'));
process.on('SIGTERM', () => {
  for (const server of servers) server.close().closeAllConnections();
  process.stdout.write('bye\n');
});
