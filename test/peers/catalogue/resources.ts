import { FixtureError } from './fixture-tool.js';
import type { FixtureContext, JsonObject } from './fixture-tool.js';
import { PNG } from './media.js';
import { stringQuestion } from './questions.js';

export const resources: JsonObject[] = [
  { uri: 'test://static-text', name: 'static-text', description: 'Static text', mimeType: 'text/plain' },
  { uri: 'test://static-binary', name: 'static-binary', description: 'Static image', mimeType: 'image/png' },
  {
    uri: 'test://watched-resource',
    name: 'watched-resource',
    description: 'Can be watched',
    mimeType: 'text/plain',
  },
  {
    uri: 'test://asks-first',
    name: 'asks-first',
    description: 'Asks the user first',
    mimeType: 'text/plain',
  },
];

export const resourceTemplates: JsonObject[] = [
  {
    uriTemplate: 'test://template/{id}/data',
    name: 'template',
    description: 'A template with one variable',
    mimeType: 'application/json',
  },
];

const text = (uri: string, value: string): JsonObject => ({
  contents: [{ uri, mimeType: 'text/plain', text: value }],
});

/** `resources/read`. `-32002` is the legacy code for an unknown URI; 2026-07-28 made it `-32602` (SEP-2164). */
export async function readResource(uri: string, ctx: FixtureContext): Promise<JsonObject> {
  if (uri === 'test://static-text') return text(uri, 'This is the content of the static text resource.');
  if (uri === 'test://watched-resource') return text(uri, 'Watched resource content');
  if (uri === 'test://static-binary') return { contents: [{ uri, mimeType: 'image/png', blob: PNG }] };
  if (uri === 'test://asks-first') {
    const { topic } = await ctx.ask({ topic: stringQuestion('Which topic?', 'topic') });
    return text(uri, `Topic: ${topic.content?.topic ?? topic.action}`);
  }
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id !== undefined) {
    const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return { contents: [{ uri, mimeType: 'application/json', text: data }] };
  }
  throw new FixtureError(ctx.era === 'legacy' ? -32002 : -32602, 'Resource not found', { uri });
}
