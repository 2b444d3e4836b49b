import { setTimeout as pause } from 'node:timers/promises';
import { type DemoTool, textResult, toolError } from './tool.js';

const COUNT_MS = 300;
const COUNT_MAX = 60;

const number = { type: 'number' } as const;

const echo: DemoTool = {
  definition: {
    name: 'echo',
    title: 'Echo',
    description: 'Says what it was told.',
    inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
  },
  run: ({ message }) =>
    typeof message === 'string' ? textResult(message) : toolError('"message" must be a string'),
};

const add: DemoTool = {
  definition: {
    name: 'add',
    title: 'Add',
    description: 'Adds two numbers; the sum comes as structured content too.',
    inputSchema: { type: 'object', properties: { a: number, b: number }, required: ['a', 'b'] },
    outputSchema: { type: 'object', properties: { sum: number }, required: ['sum'] },
  },
  run: ({ a, b }) =>
    typeof a === 'number' && typeof b === 'number'
      ? textResult(String(a + b), { sum: a + b })
      : toolError('"a" and "b" must be numbers'),
};

const countdown: DemoTool = {
  definition: {
    name: 'countdown',
    title: 'Countdown',
    description: 'Counts down to zero, reporting progress and log messages on the way.',
    inputSchema: {
      type: 'object',
      properties: { from: { type: 'integer', minimum: 1, maximum: COUNT_MAX, default: 5 } },
    },
  },
  run: async ({ from = 5 }, call) => {
    if (typeof from !== 'number' || !Number.isInteger(from) || from < 1 || from > COUNT_MAX) {
      return toolError(`"from" must be a whole number from 1 to ${COUNT_MAX}`);
    }
    for (let left = from; left > 0; left--) {
      call.log('info', `${left} to go`);
      await pause(COUNT_MS, undefined, { signal: call.signal });
      call.progress(from - left + 1, from, `${left - 1} to go`);
    }
    return textResult('Lift-off.');
  },
};

const whoami: DemoTool = {
  definition: {
    name: 'whoami',
    title: 'Who am I talking to?',
    description: 'Says in which era and revision of the protocol this server was addressed, and by whom.',
    inputSchema: { type: 'object', properties: {} },
    outputSchema: {
      type: 'object',
      properties: {
        era: { enum: ['legacy', 'modern'] },
        revision: { type: 'string' },
        client: { type: 'string' },
      },
      required: ['era', 'revision', 'client'],
    },
  },
  run: (_args, { era, revision, client }) =>
    textResult(`This server was addressed in the ${era} era, revision ${revision}, by ${client}.`, {
      era,
      revision,
      client,
    }),
};

/** The tools of both demo servers. */
export const DEMO_TOOLS: readonly DemoTool[] = [echo, add, countdown, whoami];
