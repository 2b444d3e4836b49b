import { type ChangeFilter, LIST_KINDS, wants } from '../../../src/exchange/change-filter.js';
import { possibleChanges } from '../../../src/exchange/listen-service.js';
import type { Watch } from '../../../src/exchange/exchange.js';
import type { Message } from '../../../src/jsonrpc/message.js';
import { offeredChanges } from '../offered-changes.js';
import type { UpstreamSession } from './session.js';

/**
 * Watches a session for changes: its standalone stream carries them, and `resources/subscribe` asks for those of single
 * resources. Honoured is what the server advertises and its stream can bring.
 * @param release called once when the watch is over
 */
export async function openWatch(
  session: UpstreamSession,
  filter: ChangeFilter,
  onChange: (change: Message) => void,
  release: () => void,
): Promise<Watch> {
  const offered = offeredChanges(session.initialize);
  // Listened for before the stream is there: its first bytes may bring a change.
  const early: Message[] = [];
  let hear = (change: Message): void => void early.push(change);
  const stop = session.onChange((change) => hear(change));
  const streaming = await session.openStream();
  const lists = new Set(
    LIST_KINDS.filter((kind) => streaming && filter.lists.has(kind) && offered.lists.has(kind)),
  );
  const uris = new Set<string>();
  const honoured: ChangeFilter = { lists, uris };
  const stopGap = session.onGap(() => {
    for (const change of possibleChanges(honoured)) onChange(change);
  });
  if (streaming && offered.subscribe) {
    await Promise.all(
      [...filter.uris].map(async (uri) => {
        if (await session.subscriptions.join(uri)) uris.add(uri);
      }),
    );
  }
  hear = (change) => {
    if (wants(honoured, change)) onChange(change);
  };
  for (const change of early.splice(0)) hear(change);
  let closed = false;
  return {
    honoured,
    ended: session.over,
    close: () => {
      if (closed) return;
      closed = true;
      stop();
      stopGap();
      for (const uri of uris) session.subscriptions.leave(uri);
      release();
    },
  };
}
