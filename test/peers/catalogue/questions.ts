import { randomUUID } from 'node:crypto';
import type { FixtureContext, JsonObject, Question } from './fixture-tool.js';

/** A form elicitation. */
export function formQuestion(message: string, properties: JsonObject, required?: string[]): Question {
  const requestedSchema: JsonObject = { type: 'object', properties };
  if (required) requestedSchema['required'] = required;
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } };
}

/** A form elicitation for one required string. */
export function stringQuestion(message: string, field: string): Question {
  return formQuestion(message, { [field]: { type: 'string' } }, [field]);
}

/** A URL elicitation. Only the legacy form carries an `elicitationId`; 2026-07-28 dropped it. */
export function urlQuestion(ctx: FixtureContext, message: string, url: string): Question {
  const params: JsonObject = { mode: 'url', message, url };
  if (ctx.era === 'legacy') params['elicitationId'] = `elicitation-${randomUUID()}`;
  return { method: 'elicitation/create', params };
}

export function samplingQuestion(text: string, maxTokens = 100): Question {
  const messages = [{ role: 'user', content: { type: 'text', text } }];
  return { method: 'sampling/createMessage', params: { messages, maxTokens } };
}

export const rootsQuestion: Question = { method: 'roots/list' };

/** The text of a sampling answer; empty for other kinds of content. */
export function sampledText(answer: any): string {
  const content = Array.isArray(answer?.content) ? answer.content[0] : answer?.content;
  return typeof content?.text === 'string' ? content.text : '';
}
