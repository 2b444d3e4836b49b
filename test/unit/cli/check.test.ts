import { describe, expect, test } from 'vitest';
import { compatibility, type ClientOutlook } from '../../../src/cli/compatibility.js';
import type { UpstreamReport } from '../../../src/upstreams/report.js';
import { runCommand } from './fake-terminal.js';

const LEGACY: UpstreamReport = {
  url: 'https://a.example/mcp',
  era: 'legacy',
  evidence: ['server/discover: 404', 'initialize succeeded'],
  versions: ['2025-11-25'],
  serverInfo: { name: 'files', version: '1.2' },
  capabilities: {
    tools: { listChanged: true },
    resources: { subscribe: true },
    prompts: {},
    completions: {},
    logging: {},
    tasks: {},
  },
  offersGetStream: true,
};

const MODERN: UpstreamReport = {
  url: 'https://a.example/mcp',
  era: 'modern',
  evidence: ['server/discover lists it'],
  versions: ['2026-07-28'],
  capabilities: {
    tools: { listChanged: true },
    logging: {},
    extensions: { 'io.modelcontextprotocol/tasks': {}, 'io.modelcontextprotocol/ui': {} },
  },
};

const topics = (list: ClientOutlook['works']) => list.map(({ topic }) => topic);

describe('compatibility', () => {
  test('nothing can be said while the era is unknown', () => {
    expect(compatibility({ url: 'x', era: 'unknown', evidence: [], versions: [] })).toBeUndefined();
  });

  test('the same era is relayed and loses nothing', () => {
    expect(compatibility(LEGACY)?.legacy).toMatchObject({ path: 'relayed', lost: [] });
    expect(compatibility(MODERN)?.modern).toMatchObject({ path: 'relayed', lost: [] });
    expect(topics(compatibility(LEGACY)!.legacy.works)).toContain('broken connections');
  });

  test('a modern client of a legacy server', () => {
    const { path, works, lost } = compatibility(LEGACY)!.modern;
    expect(path).toBe('translated');
    expect(topics(works)).toEqual([
      'discovery',
      'tools',
      'resources',
      'prompts',
      'completion',
      'questions',
      'progress and cancelling',
      'state between calls',
      'change notifications',
      'log messages',
    ]);
    expect(topics(lost)).toEqual([
      'broken connections',
      'caching',
      'log messages outside calls',
      'questions outside calls',
      'tasks',
    ]);
  });

  test('without a GET stream changes are lost to modern clients, and messages outside calls to legacy ones', () => {
    const { legacy, modern } = compatibility({ ...LEGACY, offersGetStream: false })!;
    expect(topics(modern.works)).not.toContain('change notifications');
    expect(topics(modern.lost)).toContain('change notifications');
    expect(topics(legacy.lost)).toEqual(['messages outside calls']);
  });

  test('a legacy client of a modern server', () => {
    const { path, works, lost } = compatibility(MODERN)!.legacy;
    expect(path).toBe('translated');
    expect(topics(works)).toEqual([
      'sessions',
      'tools',
      'questions',
      'progress and cancelling',
      'broken connections',
      'structured results',
      'change notifications',
      'log messages',
    ]);
    expect(topics(lost)).toEqual([
      'badly annotated tools',
      'cache hints',
      'clients of older revisions',
      'tasks',
      'extensions',
    ]);
    expect(lost.at(-1)?.text).toMatch(/^io\.modelcontextprotocol\/ui: /);
  });

  test.each([undefined, {}, { tools: null, extensions: 'x', resources: [] }])(
    'a server with capabilities %j offers nothing to lose',
    (capabilities) => {
      const report = { ...MODERN, ...(capabilities === undefined ? {} : { capabilities }) };
      if (capabilities === undefined) delete report.capabilities;
      const { works } = compatibility(report)!.legacy;
      expect(topics(works)).toEqual([
        'sessions',
        'questions',
        'progress and cancelling',
        'broken connections',
      ]);
    },
  );
});

describe('check', () => {
  test('prints the report and both outlooks', async () => {
    const { code, out, err, inspected } = await runCommand(['check', LEGACY.url], { report: LEGACY });
    expect([code, err]).toEqual([0, '']);
    expect(inspected[0]).toMatchObject({
      url: LEGACY.url,
      era: 'auto',
      authorization: { mode: 'transparent' },
    });
    expect(out).toContain('https://a.example/mcp speaks the legacy era\n');
    expect(out).toContain('  Server     files 1.2\n');
    expect(out).toContain('  Offers     tools (listChanged), resources (subscribe), prompts');
    expect(out).toContain('  Evidence   server/discover: 404\n             initialize succeeded\n');
    expect(out).toContain('Legacy clients through the gateway (same era, relayed)\n');
    expect(out).toContain('  - nothing is lost\n');
    expect(out).toContain('Modern clients through the gateway (other era, translated)\n');
    expect(out).toContain('  - tasks: not translated yet');
  });

  test('prints the same as JSON', async () => {
    const { code, out } = await runCommand(['check', '--json', MODERN.url], { report: MODERN });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({ ...MODERN, clients: compatibility(MODERN) });
  });

  test('an unknown era is code 1, with the reason', async () => {
    const report = {
      era: 'unknown' as const,
      evidence: ['server/discover: 401'],
      versions: [],
      error: { code: 'unauthorized', message: 'the server wants a credential' },
    };
    const { code, out } = await runCommand(['check', 'https://a.example/'], { report });
    expect(code).toBe(1);
    expect(out).toContain('https://a.example/: era unknown\n');
    expect(out).toContain('  Error      the server wants a credential (unauthorized)\n');
    expect(out).not.toContain('clients through');
    expect((await runCommand(['check', '--json', 'https://a.example/'], { report })).code).toBe(1);
  });

  test('headers and era go to the server, secrets not to the screen', async () => {
    const { out, inspected } = await runCommand(
      [
        'check',
        'https://a.example/?key=hunter2',
        '-H',
        'Authorization: Bearer hunter2',
        '-H',
        'X-A:  b ',
        '--era',
        'modern',
      ],
      { report: MODERN },
    );
    expect(inspected[0]).toMatchObject({
      url: 'https://a.example/?key=hunter2',
      era: 'modern',
      authorization: { mode: 'static', header: 'Bearer hunter2' },
      headers: { 'X-A': 'b' },
    });
    expect(out).not.toContain('hunter2');
  });

  test('a server cannot write to the terminal', async () => {
    const report = {
      ...LEGACY,
      serverInfo: { name: '\u001b[2Jevil\r\n\u009b31m\u202e', version: '1\u0007' },
      evidence: ['\u001b]0;title\u0007'],
    };
    const { out } = await runCommand(['check', LEGACY.url], { report });
    expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  test.each([
    [['nowhere'], 'URL: expected an absolute http or https URL'],
    [['https://u:p@x.example'], 'URL: expected an absolute http'],
    [['https://x.example', '--era', 'new'], '--era: expected one of auto, legacy, modern'],
    [['https://x.example', '-H', 'nonsense'], "--header: expected 'Name: value'"],
    [['https://x.example', '-H', 'Mcp-Method: x'], '--header Mcp-Method: expected no Mcp-* header'],
    [['https://x.example', '-H', 'Authorization:'], '--header Authorization: expected one line of visible'],
  ])('%j is refused: code 2', async (args, complaint) => {
    const { code, err, inspected } = await runCommand(['check', ...args], { report: LEGACY });
    expect(code).toBe(2);
    expect(err).toContain(complaint);
    expect(inspected).toEqual([]);
  });
});
