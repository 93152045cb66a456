import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import request from 'supertest';
import { expectProblem } from '@sealgate/testing';
import { listen, plain, sendRaw, sendRequest, testRoute, testSurface } from '../test/test-surface.ts';

const get = (path: string, operationId: string) =>
  testRoute({
    ...plain,
    operationId,
    method: 'get',
    path,
    handler: ({ params }) => ({ status: 200, body: { operationId, params } }),
  });

const post = (path: string, operationId: string) =>
  testRoute({ ...plain, operationId, method: 'post', path, handler: () => ({ status: 200, body: { operationId } }) });

const routes = [
  get('/:network', 'network'),
  get('/api/assets/:id', 'readAsset'),
  post('/api/assets/query', 'queryAssets'),
  get('/ledger/:channel/tile/*tile', 'tile'),
  get('/.well-known/jwks.json', 'keys'),
];

/** Sent on a raw socket, because HTTP clients normalize paths. */
async function asked(target: string, method = 'GET') {
  const surface = testSurface(routes);
  const listening = await listen(surface.app);
  try {
    return { surface, answer: await sendRequest(listening.port, [`${method} ${target} HTTP/1.1`]) };
  } finally {
    await listening.close();
  }
}

describe('paths', () => {
  it.each([
    ['another case', '/API/assets/1'],
    ['a trailing slash', '/api/assets/1/'],
    ['an empty segment', '/api//assets/1'],
    ['an empty parameter', '/api/assets/'],
    ['the root, where only a segment is served', '/'],
    ['a dot segment', '/api/assets/..'],
    ['an encoded dot segment', '/api/assets/%2e%2E'],
    ['a single dot', '/.'],
    ['dot segments inside the path', '/api/x/../assets/1'],
    ['an encoded slash as separator', '/api%2Fassets%2F1/x'],
    ['a malformed percent-encoding', '/api/assets/%zz'],
    ['a percent-encoding that is not UTF-8', '/api/assets/%ff'],
    ['a malformed percent-encoding in a literal', '/api/%61%/1'],
    ['an encoded letter in a literal', '/ap%69/assets/1'],
    ['an empty segment in the rest', '/ledger/c/tile/0//1'],
    ['a dot segment in the rest', '/ledger/c/tile/0/../1'],
    ['an encoded slash in the rest', '/ledger/c/tile/0%2F1'],
    ['a target that is not a path', '*'],
    ['a target that is not a URL', 'http://['],
  ])('are 404 with %s', async (_, target) => {
    const { answer } = await asked(target);
    expectProblem(answer, 'NOT_FOUND');
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
  });

  it('keep an encoded slash inside its segment', async () => {
    const { answer } = await asked('/a%2Fb');
    expect(answer.body).toEqual({ operationId: 'network', params: { network: 'a/b' } });
  });

  it('may be sent as an absolute URL', async () => {
    const { answer } = await asked('http://elsewhere/api/assets/1?x');
    expectProblem(answer, 'UNKNOWN_PARAMETER');
    expect((await asked('http://elsewhere/api/assets/1')).answer.body).toMatchObject({ operationId: 'readAsset' });
  });

  it('of one plain segment match as in Express, which handles other spellings and dot segments', async () => {
    const surface = testSurface(routes);
    const { port, close } = await listen(surface.app);
    const ask = async (segment: string) => {
      const answer = await sendRequest(port, [`GET /${segment} HTTP/1.1`, 'X-Request-Id: r']);
      return { ...answer, headers: { ...answer.headers, date: '' } };
    };
    const encoded = (segment: string) => `%${segment.charCodeAt(0).toString(16)}${segment.slice(1)}`;
    try {
      await fc.assert(
        fc.asyncProperty(fc.stringMatching(/^[A-Za-z0-9._~-]{1,20}$/), async (segment) => {
          expect(await ask(segment)).toEqual(await ask(encoded(segment)));
        }),
        { examples: [['.'], ['..'], ['acme']] },
      );
    } finally {
      await close();
    }
  });

  it('pass the rest as one value', async () => {
    const { answer } = await asked('/ledger/net.main/tile/0/x001/067');
    expect(answer.body).toEqual({ operationId: 'tile', params: { channel: 'net.main', tile: '0/x001/067' } });
  });

  it('prefer a literal segment to a parameter, in any order of declaration', async () => {
    const { answer } = await asked('/.well-known/jwks.json');
    expect(answer.body).toMatchObject({ operationId: 'keys' });
  });

  it('are shared: a method missing on the literal path is matched on the parameter', async () => {
    const { answer } = await asked('/api/assets/query');
    expect(answer.body).toEqual({ operationId: 'readAsset', params: { id: 'query' } });
    const refused = (await asked('/api/assets/query', 'PUT')).answer;
    expectProblem(refused, 'METHOD_NOT_ALLOWED');
    expect(refused.headers['allow']).toBe('GET, HEAD, POST');
  });

  it('never appear in the log as URLs', async () => {
    const { surface } = await asked('/api/assets/svc_secret?key=svc_secret');
    expect(surface.records).toHaveLength(1);
    expect(JSON.stringify(surface.records)).not.toContain('secret');
    expect(surface.records[0]?.route).toBe('/api/assets/{id}');
    expect((await asked('/no/such')).surface.records[0]?.route).toBe('none');
  });
});

describe('methods', () => {
  it.each(['/..', '/.', '/%2e%2E', '/api/assets/..', '/ledger/c/tile/../x'])(
    'are not told of a path with dot segments, which is 404 for every method: %s',
    async (target) => {
      const surface = testSurface([post('/:network', 'write'), ...routes.slice(1)]);
      const { port, close } = await listen(surface.app);
      try {
        for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD']) {
          const { status, headers } = await sendRequest(port, [`${method} ${target} HTTP/1.1`]);
          expect([method, status, headers['allow']]).toEqual([method, 404, undefined]);
        }
      } finally {
        await close();
      }
    },
  );

  const { app } = testSurface(routes);

  it('missing on a path are 405 and Allow lists those present', async () => {
    for (const method of ['post', 'put', 'patch', 'delete', 'options'] as const) {
      const response = await request(app)[method]('/api/assets/1');
      expectProblem(response, 'METHOD_NOT_ALLOWED');
      expect(response.headers['allow']).toBe('GET, HEAD');
    }
  });

  it('include HEAD on every GET route: its headers, without a body', async () => {
    const got = await request(app).get('/api/assets/1');
    const asked = await request(app).head('/api/assets/1');
    const untimed = ({ date: _, ...headers }: Record<string, string>) => headers;
    expect(asked.status).toBe(200);
    expect(asked.text).toBeUndefined();
    expect(untimed(asked.headers)).toEqual(untimed(got.headers));
    expect(asked.headers['content-length']).toBe(String(got.text.length));
  });

  it('exclude HEAD if the surface disables it', async () => {
    const surface = testSurface(routes, { head: false });
    const response = await request(surface.app).head('/api/assets/1');
    expect(response.status).toBe(405);
    expect(response.headers['allow']).toBe('GET');
  });

  it('never answer CORS, not even a preflight', async () => {
    const response = await request(app)
      .options('/api/assets/1')
      .set('Origin', 'https://elsewhere')
      .set('Access-Control-Request-Method', 'GET');
    expectProblem(response, 'METHOD_NOT_ALLOWED');
    expect(Object.keys(response.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('are counted under the template of their path', async () => {
    const surface = testSurface(routes);
    await request(surface.app).get('/api/assets/1');
    await request(surface.app).put('/api/assets/1');
    await request(surface.app).put('/no/such/path');
    expect(surface.observed).toEqual([
      { method: 'GET', template: '/api/assets/{id}', status: 200 },
      { method: 'other', template: '/api/assets/{id}', status: 405 },
      { method: 'other', template: 'none', status: 404 },
    ]);
  });

  it('work for several requests on one connection', async () => {
    const listening = await listen(testSurface(routes).app);
    const again = 'GET /net HTTP/1.1\r\nHost: test\r\n\r\n';
    const text = await sendRaw(
      listening.port,
      `${again}${again}GET /net HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n`,
    );
    expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3);
    await listening.close();
  });
});

describe('the rest of the path of a raw route', () => {
  const passedOn = testRoute({
    ...plain,
    method: 'get',
    path: '/on/:surface/*rest',
    raw: true,
    handler: ({ params, path, response }) =>
      void response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ params, path })),
  });
  const answered = async (target: string) => {
    const listening = await listen(testSurface([passedOn]).app);
    try {
      return await sendRequest(listening.port, [`GET ${target} HTTP/1.1`]);
    } finally {
      await listening.close();
    }
  };

  it.each(['/on/a/x%2Fy', '/on/a/x//y/', '/on/a/../y', '/on/a/%2e%2e/y'])(
    'is left to its handler: %s',
    async (target) => {
      const { status, body } = await answered(target);
      expect({ status, body }).toEqual({
        status: 200,
        body: { params: { surface: 'a' }, path: target },
      });
    },
  );

  it.each(['/on/..%2Fa', '/on/%2e%2e/x', '/on/a/%zz', '/on/a'])(
    'does not lift the check of the path before it: %s',
    async (target) => {
      expect((await answered(target)).status).toBe(404);
    },
  );
});
