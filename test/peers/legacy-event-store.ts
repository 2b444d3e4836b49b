import { randomBytes } from 'node:crypto';
import type { EventId, EventStore, StreamId } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

interface StoredEvent {
  readonly id: EventId;
  readonly message: JSONRPCMessage;
}

/**
 * The events of one legacy session, kept per stream: a resume replays the later events of the stream its id
 * belongs to and of no other.
 */
export class LegacyEventStore implements EventStore {
  private readonly prefix = randomBytes(4).toString('hex');
  private readonly streams = new Map<StreamId, StoredEvent[]>();
  private readonly streamOf = new Map<EventId, StreamId>();
  private sequence = 0;

  async storeEvent(streamId: StreamId, message: JSONRPCMessage): Promise<EventId> {
    this.sequence += 1;
    const id = `${this.prefix}-${String(this.sequence).padStart(6, '0')}`;
    const events = this.streams.get(streamId) ?? [];
    events.push({ id, message });
    this.streams.set(streamId, events);
    this.streamOf.set(id, streamId);
    return id;
  }

  async getStreamIdForEventId(eventId: EventId): Promise<StreamId | undefined> {
    return this.streamOf.get(eventId);
  }

  async replayEventsAfter(
    lastEventId: EventId,
    { send }: { send: (eventId: EventId, message: JSONRPCMessage) => Promise<void> },
  ): Promise<StreamId> {
    const streamId = this.streamOf.get(lastEventId);
    if (streamId === undefined) throw new Error(`Unknown event id ${lastEventId}`);
    const events = this.streams.get(streamId) ?? [];
    const start = events.findIndex((event) => event.id === lastEventId) + 1;
    for (const event of events.slice(start)) {
      // The SDK stores its priming event as an empty message; replaying that would put `{}` on the wire.
      if (Object.keys(event.message).length > 0) await send(event.id, event.message);
    }
    return streamId;
  }
}
