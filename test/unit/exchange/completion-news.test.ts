import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CompletionNews } from '../../../src/exchange/completion-news.js';
import type { Introduction, UpstreamHalf } from '../../../src/exchange/exchange.js';

/** News from an upstream whose notifications the test makes up. */
function started() {
  let complete!: (elicitationId: string) => void;
  const hearCompletions: UpstreamHalf['hearCompletions'] = (_, listener) => {
    complete = listener;
    return { live: true, stop: () => undefined };
  };
  const news = new CompletionNews({ hearCompletions } as UpstreamHalf, {} as Introduction);
  return { news, complete };
}

/** Whether a wait is over, once all that was to happen at once has happened. */
async function isOver(waiting: Promise<void>): Promise<boolean> {
  let over = false;
  void waiting.then(() => (over = true));
  await setImmediate();
  return over;
}

// "Clients MUST ignore notifications referencing unknown or already-completed IDs."
// @see /specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation
test('X18 only what is awaited ends a wait, and only once', async () => {
  const { news, complete } = started();
  const end = new AbortController();
  news.expect(['a', 'b']);
  const first = news.wait(60_000, end.signal);
  complete('stranger');
  expect(await isOver(first)).toBe(false);
  complete('a');
  expect(await isOver(first)).toBe(true);
  // The server still names it: what it said once it cannot say again.
  news.expect(['a']);
  const second = news.wait(60_000, end.signal);
  complete('a');
  expect(await isOver(second)).toBe(false);
  complete('b');
  expect(await isOver(second)).toBe(true);
});

test('X18 news that comes before the wait is not lost', async () => {
  const { news, complete } = started();
  news.expect(['a']);
  complete('a');
  expect(await isOver(news.wait(60_000, new AbortController().signal))).toBe(true);
});
