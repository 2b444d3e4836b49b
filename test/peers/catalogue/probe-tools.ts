import { randomUUID } from 'node:crypto';
import { FixtureError, LOG_LEVELS, pause, textResult, toolDefinition } from './fixture-tool.js';
import type { Change, FixtureTool, JsonObject } from './fixture-tool.js';
import { PNG } from './media.js';
import {
  formQuestion,
  rootsQuestion,
  sampledText,
  samplingQuestion,
  stringQuestion,
  urlQuestion,
} from './questions.js';

const LABEL = { label: { type: 'string' } };

const labelOf = (args: JsonObject): string => (typeof args['label'] === 'string' ? args['label'] : '');

/** The tools of our own tests: each makes one mechanism of the protocol observable. */
export const probeTools: FixtureTool[] = [
  {
    definition: toolDefinition('probe_echo', 'Returns its arguments as text', { value: {} }, [], {
      title: 'Echo',
      annotations: { readOnlyHint: true, title: 'Echo', idempotentHint: true },
      icons: [{ src: `data:image/png;base64,${PNG}`, mimeType: 'image/png', sizes: ['1x1'] }],
      _meta: { 'example.com/tool-meta': { kept: true } },
    }),
    run: (args) => textResult(JSON.stringify(args)),
  },
  {
    definition: toolDefinition(
      'probe_structured',
      'structuredContent with an outputSchema',
      { n: { type: 'integer' } },
      ['n'],
      {
        outputSchema: {
          type: 'object',
          properties: { n: { type: 'integer' }, squared: { type: 'integer' } },
          required: ['n', 'squared'],
        },
      },
    ),
    run: (args) => {
      const n = Number(args['n']);
      const structuredContent = { n, squared: n * n };
      return { ...textResult(JSON.stringify(structuredContent)), structuredContent };
    },
  },
  {
    era: 'modern',
    definition: toolDefinition(
      'probe_array',
      'structuredContent that is an array',
      { n: { type: 'integer' } },
      ['n'],
      {
        outputSchema: { type: 'array', items: { type: 'integer' } },
      },
    ),
    run: (args) => {
      const structuredContent = Array.from({ length: Number(args['n']) }, (_, index) => index);
      return { ...textResult(JSON.stringify(structuredContent)), structuredContent };
    },
  },
  {
    definition: toolDefinition(
      'probe_slow',
      'Runs for ms, with progress every tickMs; stops when cancelled',
      { ms: { type: 'integer' }, tickMs: { type: 'integer' }, ...LABEL },
      ['ms'],
    ),
    run: async (args, ctx) => {
      const ms = Number(args['ms']);
      const tickMs = Number(args['tickMs'] ?? ms);
      const ticks = Math.max(1, Math.floor(ms / tickMs));
      for (let tick = 1; tick <= ticks && !ctx.signal.aborted; tick++) {
        await ctx.progress(tick, ticks, `tick ${tick}`);
        await pause(tickMs, ctx.signal);
      }
      return textResult(`done ${labelOf(args)} after ${ticks} ticks`);
    },
  },
  {
    definition: toolDefinition(
      'probe_steps',
      'Logs count steps, pauseMs apart',
      { count: { type: 'integer' }, pauseMs: { type: 'integer' } },
      ['count', 'pauseMs'],
    ),
    run: async (args, ctx) => {
      const count = Number(args['count']);
      for (let step = 1; step <= count && !ctx.signal.aborted; step++) {
        await ctx.log('info', `step ${step}`);
        await pause(Number(args['pauseMs']), ctx.signal);
      }
      return textResult(`${count} steps done`);
    },
  },
  {
    definition: toolDefinition('probe_log', 'Logs one line at each of the eight levels', LABEL),
    run: async (args, ctx) => {
      for (const level of LOG_LEVELS)
        await ctx.log(level, { probe: 'probe_log', level, label: labelOf(args) });
      return textResult(`logged ${LOG_LEVELS.length} levels`);
    },
  },
  {
    definition: toolDefinition('probe_elicit_form', 'Form elicitation', LABEL),
    run: async (args, ctx) => {
      const { form } = await ctx.ask({
        form: formQuestion(
          `Probe form ${labelOf(args)}`,
          {
            name: { type: 'string', title: 'Name', minLength: 1 },
            color: { type: 'string', enum: ['red', 'green'] },
          },
          ['name'],
        ),
      });
      return textResult(JSON.stringify(form));
    },
  },
  {
    definition: toolDefinition('probe_elicit_url', 'URL elicitation', LABEL),
    run: async (args, ctx) => {
      const label = labelOf(args);
      const question = urlQuestion(ctx, `Probe url ${label}`, `https://example.com/authorize?x=${label}`);
      const { url } = await ctx.ask({ url: question });
      if (url.action === 'accept') await ctx.elicitationComplete(String(question.params?.['elicitationId']));
      return textResult(JSON.stringify(url));
    },
  },
  {
    era: 'legacy',
    definition: toolDefinition(
      'probe_url_required',
      'Fails with -32042 until the URL is completed, which happens ms after its first call in a session',
      { ms: { type: 'integer' } },
    ),
    run: (args, ctx) => {
      const { state } = ctx;
      if (state.pendingUrl?.done) return textResult('authorized');
      if (!state.pendingUrl) {
        const pending = { elicitationId: `elicitation-${randomUUID()}`, done: false };
        state.pendingUrl = pending;
        setTimeout(
          () => {
            pending.done = true;
            ctx.elicitationComplete(pending.elicitationId, true).catch(() => undefined);
          },
          Number(args['ms'] ?? 100),
        );
      }
      const { elicitationId } = state.pendingUrl;
      const url = 'https://example.com/authorize?x=required';
      throw new FixtureError(-32042, 'Authorization is required', {
        elicitations: [{ mode: 'url', elicitationId, url, message: 'Please authorize' }],
      });
    },
  },
  {
    era: 'legacy',
    definition: toolDefinition('probe_ask_detached', 'Asks on the standalone stream instead of its own'),
    run: async (_args, ctx) => {
      const { user } = await ctx.ask(
        { user: stringQuestion('Detached question', 'name') },
        { detached: true },
      );
      return textResult(JSON.stringify(user));
    },
  },
  {
    era: 'legacy',
    definition: toolDefinition(
      'probe_withdraw',
      'Asks, takes the question back after ms and returns',
      { ms: { type: 'integer' } },
      ['ms'],
    ),
    run: async (args, ctx) => {
      const question = stringQuestion('Will be withdrawn', 'name');
      const answers = await ctx
        .ask({ user: question }, { withdrawAfterMs: Number(args['ms']) })
        .catch(() => undefined);
      return textResult(answers ? JSON.stringify(answers['user']) : 'withdrawn');
    },
  },
  {
    definition: toolDefinition('probe_sample', 'Sampling', { prompt: { type: 'string' } }, ['prompt']),
    run: async (args, ctx) => {
      const { answer } = await ctx.ask({ answer: samplingQuestion(String(args['prompt'])) });
      return textResult(JSON.stringify(answer));
    },
  },
  {
    definition: toolDefinition('probe_roots', 'Lists the roots of the client'),
    run: async (_args, ctx) => {
      const { roots } = await ctx.ask({ roots: rootsQuestion });
      return textResult(JSON.stringify(roots.roots));
    },
  },
  {
    definition: toolDefinition(
      'probe_two_rounds',
      'Form elicitation, then sampling that quotes its answer',
      LABEL,
    ),
    run: async (args, ctx) => {
      const first = await ctx.ask(
        { r1: stringQuestion(`Round 1 ${labelOf(args)}`, 'name') },
        { sealed: true },
      );
      const name = first['r1'].content?.name ?? first['r1'].action;
      const second = await ctx.ask({ r2: samplingQuestion(`Round 2 for ${name}`) }, { sealed: true });
      return textResult(`${name} / ${sampledText(second['r2'])}`);
    },
  },
  {
    definition: toolDefinition(
      'probe_rpc_error',
      'Fails with a JSON-RPC error of this code, message and data',
      { code: { type: 'integer' }, message: { type: 'string' }, data: {} },
      ['code'],
    ),
    run: (args) => {
      const message = typeof args['message'] === 'string' ? args['message'] : 'probe_rpc_error';
      throw new FixtureError(Number(args['code']), message, args['data'] ?? { probe: 'probe_rpc_error' });
    },
  },
  {
    definition: toolDefinition('probe_big', 'A text of the given size', { bytes: { type: 'integer' } }, [
      'bytes',
    ]),
    run: (args) => textResult('x'.repeat(Number(args['bytes']))),
  },
  {
    definition: toolDefinition('probe_resource_link', 'A resource_link and a result _meta'),
    run: () => ({
      content: [
        {
          type: 'resource_link',
          uri: 'test://static-text',
          name: 'Static text',
          mimeType: 'text/plain',
          annotations: { audience: ['user'], priority: 0.5 },
        },
      ],
      _meta: { 'example.com/result-meta': { kept: true } },
    }),
  },
  {
    definition: toolDefinition('probe_result_meta', 'Returns the _meta that arrived, and a _meta of its own'),
    run: (_args, ctx) => ({
      ...textResult(JSON.stringify(ctx.meta)),
      _meta: { 'example.com/result-meta': { kept: true } },
    }),
  },
  {
    definition: toolDefinition('probe_counter', 'Counts the calls in this session'),
    run: (_args, ctx) => textResult(String(++ctx.state.counter)),
  },
  {
    definition: toolDefinition('probe_trigger_change', 'Announces changes', {
      kind: { type: 'string', enum: ['tools', 'prompts', 'resources', 'updated'] },
      uri: { type: 'string' },
      times: { type: 'integer' },
    }),
    run: async (args, ctx) => {
      const { kind = 'tools', uri = 'test://watched-resource' } = args as { kind?: string; uri?: string };
      const change = kind === 'updated' ? { uri } : (kind as Change);
      const times = Number(args['times'] ?? 1);
      for (let time = 0; time < times; time++) await ctx.announce(change);
      return textResult(`announced ${kind} ${times} time(s)`);
    },
  },
];
