import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import { describe, expect, test } from 'vitest';
import { startScript } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { connectLegacyClient } from '../peers/legacy-client.js';
import { startModernServer } from '../peers/modern-server.js';
import { type Script, answerResult, scriptedTool } from '../peers/scripted-server.js';
import { openWireSession } from '../peers/wire-client.js';

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** Output schemas no legacy client reads, each with a value it allows. */
const VALUES: [string, unknown, unknown][] = [
  ['an array', { type: 'array', items: { type: 'integer' } }, [1, 2, 3]],
  ['an empty array', { type: 'array' }, []],
  ['a string', { type: 'string', minLength: 1 }, 'text'],
  ['a number', { type: 'number' }, 1.5],
  ['false', { type: 'boolean' }, false],
  ['null', { type: 'null' }, null],
  ['a nullable object', { type: ['object', 'null'], properties: { a: true } }, { a: 1 }],
  ['an object by anyOf', { anyOf: [{ type: 'object' }, { type: 'string' }] }, { a: 1 }],
  ['no type at all', { description: 'anything' }, ['x']],
  ['true', true, [1]],
  [
    'references into itself',
    {
      $schema: DIALECT,
      $ref: '#/$defs/list',
      $defs: { list: { type: 'array', items: { $ref: '#/$defs/n' } }, n: { type: 'integer' } },
    },
    [1],
  ],
  ['recursion', { type: 'array', items: { $ref: '#' } }, [[], [[]]]],
];

function script(outputSchema: unknown, value: unknown, content: object[] = []): Script {
  return (request, res) => {
    if (request.method === 'tools/list') {
      const tools = [scriptedTool('plain'), scriptedTool('t', { outputSchema })];
      answerResult(res, request, { resultType: 'complete', tools, ttlMs: 0, cacheScope: 'private' });
    } else {
      answerResult(res, request, { resultType: 'complete', content, structuredContent: value });
    }
  };
}

describe.each(VALUES)('C14 structuredContent that is %s', (_, schema, value) => {
  test('C14 the SDK client of the legacy era lists the tool, and accepts its result after validating', async () => {
    const upstream = closing(await startScript('modern', script(schema, value)));
    const gateway = closing(await startGateway(upstream.url));
    const { client } = closing(await connectLegacyClient(gateway.url));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['plain', 't']);
    const result = await client.callTool({ name: 't' });
    expect(result.structuredContent).toEqual({ result: value });
    expect(result.content).toEqual([{ type: 'text', text: JSON.stringify(value) }]);
  });

  test('C14 the schema shown accepts the value shown and refuses another', async () => {
    const upstream = closing(await startScript('modern', script(schema, value)));
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const { tools } = (await session.call('tools/list')).message.result;
    const { outputSchema } = tools[1];
    expect(outputSchema).toMatchObject({ type: 'object', required: ['result'] });
    const validate = new AjvJsonSchemaValidator().getValidator(outputSchema);
    const { message } = await session.call('tools/call', { name: 't' });
    expect(validate(message.result.structuredContent).valid).toBe(true);
    expect(validate({}).valid).toBe(false);
    expect(validate(value).valid).toBe(false);
  });

  test('C14 a cold cache makes no difference: the call comes before any list', async () => {
    const upstream = closing(await startScript('modern', script(schema, value)));
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const { message } = await session.call('tools/call', { name: 't' });
    expect(message.result.structuredContent).toEqual({ result: value });
  });
});

describe('C14 around it', () => {
  test('C14 the real peer: probe_array through both SDKs', async () => {
    const upstream = closing(await startModernServer());
    const gateway = closing(await startGateway(upstream.url));
    const { client } = closing(await connectLegacyClient(gateway.url));
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'probe_array')?.outputSchema?.type).toBe('object');
    const result = await client.callTool({ name: 'probe_array', arguments: { n: 3 } });
    expect(result.structuredContent).toEqual({ result: [0, 1, 2] });
    expect(result.content).toEqual([{ type: 'text', text: '[0,1,2]' }]);
  });

  test('C14 content that says something is left as it is', async () => {
    const content = [{ type: 'text', text: 'three numbers' }];
    const upstream = closing(await startScript('modern', script({ type: 'array' }, [1], content)));
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const { message } = await session.call('tools/call', { name: 't' });
    expect(message.result.content).toEqual(content);
  });

  test('C14 an object schema and its value pass as they are', async () => {
    const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };
    const upstream = closing(await startScript('modern', script(schema, { a: 1 })));
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const { tools } = (await session.call('tools/list')).message.result;
    expect(tools[1].outputSchema).toEqual(schema);
    const { message } = await session.call('tools/call', { name: 't' });
    expect(message.result.structuredContent).toEqual({ a: 1 });
  });

  test('C14 boolean property schemas do not cost the client the whole list', async () => {
    const outputSchema = { type: 'object', properties: { any: true, none: false } };
    const inputSchema = { type: 'object', properties: { any: true, none: false } };
    const upstream = closing(
      await startScript('modern', (request, res) =>
        answerResult(res, request, {
          resultType: 'complete',
          tools: [scriptedTool('t', { outputSchema, inputSchema }), scriptedTool('other')],
          ttlMs: 0,
          cacheScope: 'private',
        }),
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const { client } = closing(await connectLegacyClient(gateway.url));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['t', 'other']);
    expect(tools[0]?.inputSchema.properties).toEqual({ any: {}, none: { not: {} } });
  });

  test('C14 an array without an outputSchema is an object for a legacy client all the same', async () => {
    const upstream = closing(await startScript('modern', script(undefined, [1, 2])));
    const gateway = closing(await startGateway(upstream.url));
    const { client } = closing(await connectLegacyClient(gateway.url));
    const result = await client.callTool({ name: 't' });
    expect(result.structuredContent).toEqual({ result: [1, 2] });
  });

  test('C14 a client from before structured content gets the text only', async () => {
    const upstream = closing(await startScript('modern', script({ type: 'array' }, [1, 2])));
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url, { revision: '2025-03-26' });
    const { message } = await session.call('tools/call', { name: 't' });
    expect(message.result.content).toEqual([{ type: 'text', text: '[1,2]' }]);
  });
});
