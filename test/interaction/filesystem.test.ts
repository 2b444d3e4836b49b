import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { connectLegacyClient } from '../peers/legacy-client.js';
import { connectModernClient } from '../peers/modern-client.js';
import { FilesystemServer } from './filesystem-server.js';

/** A directory with a file `hello.txt` that holds its own name. */
function directory(name: string): { path: string; file: string; root: { uri: string; name: string } } {
  // The server compares real paths.
  const path = realpathSync(mkdtempSync(join(tmpdir(), `gangway-${name}-`)));
  closing({ close: () => rmSync(path, { recursive: true }) });
  const file = join(path, 'hello.txt');
  writeFileSync(file, name);
  return { path, file, root: { uri: pathToFileURL(path).href, name } };
}

/** A gateway in front of the server. */
async function started(directories: string[] = [], config: Record<string, unknown> = {}) {
  const upstream = closing(await FilesystemServer.start(...directories));
  const gateway = closing(await startGateway(upstream.url, config));
  return { upstream, url: gateway.url };
}

const read = (path: string) => ({ name: 'read_text_file', arguments: { path } });

describe('X19 the public server-filesystem, which asks for roots right after `initialized`', () => {
  test('X19 a modern client whose first request is tools/list reads under the root it declared', async () => {
    const { root, file } = directory('own');
    const { upstream, url } = await started();
    const { client } = closing(await connectModernClient(url, { onRoots: () => ({ roots: [root] }) }));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('read_text_file');
    expect(await client.callTool(read(file))).toMatchObject({ content: [{ text: 'own' }] });
    expect(upstream.roots).toEqual([[root]]);
    // Asked and answered once: further calls go straight through.
    expect(await client.callTool(read(file))).toMatchObject({ content: [{ text: 'own' }] });
    expect(upstream.roots).toHaveLength(1);
  });

  test('X19 a modern client that answers by hand', async () => {
    const { root, file } = directory('manual');
    const { upstream, url } = await started();
    const { client } = closing(
      await connectModernClient(url, { capabilities: { roots: {} }, autoFulfill: false }),
    );
    expect((await client.listTools()).tools).not.toEqual([]);
    // Not `callTool`: that one wants structured content of every answer, questions included.
    const call = (params: object): Promise<any> =>
      client.request({ method: 'tools/call', params } as any, { allowInputRequired: true });
    const first = await call(read(file));
    expect(first).toMatchObject({ resultType: 'input_required' });
    expect(Object.values(first.inputRequests)).toEqual([{ method: 'roots/list' }]);
    const [key = ''] = Object.keys(first.inputRequests);
    const retry = {
      ...read(file),
      requestState: first.requestState,
      inputResponses: { [key]: { roots: [root] } },
    };
    expect(await call(retry)).toMatchObject({ content: [{ text: 'manual' }] });
    expect(upstream.roots).toEqual([[root]]);
  });

  test('X19 roots that were refused for want of a call are asked for again before the next one runs', async () => {
    const { root, file } = directory('late');
    const { upstream, url } = await started([], { timeouts: { questionMs: 200 } });
    const { client } = closing(await connectModernClient(url, { onRoots: () => ({ roots: [root] }) }));
    await client.listTools();
    await upstream.said('Failed to request initial roots');
    expect(upstream.roots).toMatchObject([{ code: -31010 }]);
    expect(await client.callTool(read(file))).toMatchObject({ content: [{ text: 'late' }] });
    expect(upstream.roots.slice(1)).toEqual([[root]]);
  });

  test('X19 a modern client without roots uses the directories of the server', async () => {
    const { path, file } = directory('served');
    const { upstream, url } = await started([path]);
    const { client } = closing(await connectModernClient(url));
    expect((await client.listTools()).tools).not.toEqual([]);
    expect(await client.callTool(read(file))).toMatchObject({ content: [{ text: 'served' }] });
    expect(upstream.roots).toEqual([]);
  });

  test('X19 a legacy client is asked itself, and again when it says that its roots changed', async () => {
    const [first, second] = [directory('first'), directory('second')];
    let roots = [first.root];
    const { upstream, url } = await started();
    const { client } = closing(await connectLegacyClient(url, { onRoots: () => ({ roots }) }));
    await upstream.said('Updated allowed directories');
    expect(upstream.roots).toEqual([[first.root]]);
    expect(await client.callTool(read(first.file))).toMatchObject({ content: [{ text: 'first' }] });
    expect(await client.callTool(read(second.file))).toMatchObject({ isError: true });
    roots = [second.root];
    await client.sendRootsListChanged();
    await upstream.said('Updated allowed directories', 2);
    expect(upstream.roots).toEqual([[first.root], [second.root]]);
    // What passes between two legacy peers is theirs: the gateway adds nothing.
    expect(upstream.log.requestsFor('ping')).toEqual([]);
    expect(await client.callTool(read(second.file))).toMatchObject({ content: [{ text: 'second' }] });
  });
});
