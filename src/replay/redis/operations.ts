import { printSession } from '../../sessions/session-record.js';
import { checksum } from '../checksum.js';
import type { Change } from '../store.js';

/** A session's key and what to do with it, in the words of the script that does it. */
export interface SessionOperations {
  readonly session: string;
  readonly words: string[];
  /** Indices of the changes in the batch. */
  readonly changes: number[];
}

/** Sorts a batch of changes by session; within one their order stays. */
export function operationsOf(changes: readonly Change[]): SessionOperations[] {
  const bySession = new Map<string, SessionOperations>();
  for (const [index, change] of changes.entries()) {
    // Keys expire by themselves.
    if (change.kind === 'expire') continue;
    const session = change.kind === 'session' ? change.record.key : change.session;
    let operations = bySession.get(session);
    if (operations === undefined) {
      operations = { session, words: [], changes: [] };
      bySession.set(session, operations);
    }
    operations.words.push(...wordsOf(change));
    operations.changes.push(index);
  }
  return [...bySession.values()];
}

function wordsOf(change: Exclude<Change, { kind: 'expire' }>): string[] {
  switch (change.kind) {
    case 'session':
      return ['session', printSession(change.record), String(change.at)];
    case 'seen':
      return ['seen', String(change.at)];
    case 'end':
      return ['end'];
    case 'open':
      return ['open', String(change.stream), change.streamKind, JSON.stringify(change.requests)];
    case 'event': {
      const { sequence, at, pinned, request, json } = change.event;
      const flags = [String(at), pinned ? '1' : '0', request ?? ''];
      return ['event', String(change.stream), String(sequence), ...flags, json, String(checksum(json))];
    }
    case 'settle':
      return ['settle', String(change.stream), change.request];
    case 'drop':
      return change.events.flatMap(({ sequence, request }) => [
        'drop',
        String(change.stream),
        String(sequence),
        request ?? '',
      ]);
    case 'shown':
      return ['shown', String(change.stream), String(change.sequence)];
    case 'finish':
      return ['finish', String(change.stream), String(change.at)];
    case 'cut':
      return ['cut', String(change.stream), String(change.after)];
    case 'forget':
      return ['forget', String(change.stream)];
    case 'unpin':
      // Entries of a Redis stream do not change, and whoever takes the session over unpins all questions anyway.
      return [];
  }
}
