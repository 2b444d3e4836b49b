import { EventIds } from '../../src/replay/event-id.js';
import { recoverStream } from '../../src/replay/recovery.js';
import { ReplayBuffer, type ReplayLimits, ReplayTotal } from '../../src/replay/replay-buffer.js';
import type { Store } from '../../src/replay/store.js';
import { StreamLog, type StoredEvent, type StreamKind } from '../../src/replay/stream-log.js';
import { loaded, recordOf } from '../unit/replay/store-contract.js';
import { PacedSink, ResumingClient } from './paced-client.js';

const SESSION = 's';
const PATIENCE_MS = 5000;

/** How a store comes to be opened again. */
export type Reopening = 'closed' | 'crashed' | 'taken over';

/** A place where a store can be opened again. */
export interface Place {
  open(): Promise<Store>;
  /** Ends a store as the end of its process would. */
  crash(store: Store): void;
  /** Makes other instances believe that the one behind `store` is dead. */
  pronounceDead?(store: Store, by: Store): Promise<void>;
}

/** A step of one stream or its client. */
export type SlotStep =
  | { readonly kind: 'append' | 'respond'; readonly slot: number; readonly size: number }
  | { readonly kind: 'ask' | 'connect' | 'cut' | 'read'; readonly slot: number };

export type Step =
  | SlotStep
  | { readonly kind: 'flush' }
  | { readonly kind: 'breathe' }
  | { readonly kind: 'expire' }
  | { readonly kind: 'reopen'; readonly how: Reopening };

/** One message of the upstream, and what became of it. */
interface Entry {
  readonly data: string;
  readonly event: StoredEvent;
  readonly is: 'notification' | 'question' | 'response';
  /** The process ended before the store had it, so nobody can know of it. */
  died: boolean;
}

/** One stream with its client, from its opening to the end of the play. */
export interface Thread {
  readonly kind: StreamKind;
  readonly request: string;
  readonly client: ResumingClient;
  readonly log: Entry[];
  stream: StreamLog | undefined;
  ended: boolean;
}

/** Sequence numbers of the events that bounds or age took out of the logs, by the number of their stream. */
const dropped = new Map<number, Set<number>>();
let notificationsDropped = 0;
let watched: World | undefined;
const noteLoss = StreamLog.prototype.lost;
StreamLog.prototype.lost = function (this: StreamLog, event: StoredEvent): void {
  const own = dropped.get(this.id) ?? new Set();
  dropped.set(this.id, own.add(event.sequence));
  if (event.request === undefined) notificationsDropped++;
  watched?.lost(event);
  noteLoss.call(this, event);
};

/** A session with three streams, two of calls and the standalone one, on a store that may go and come back. */
export class World {
  /** What must never be, in words. */
  readonly violations: string[] = [];
  readonly threads: Thread[] = [];
  private readonly slots: (Thread | undefined)[] = [undefined, undefined, undefined];
  private store!: Store;
  private buffer!: ReplayBuffer;
  private readonly total = new ReplayTotal();
  private counter = 0;

  private constructor(
    private readonly place: Place,
    private readonly limits: ReplayLimits,
  ) {}

  static async start(place: Place, limits: ReplayLimits): Promise<World> {
    const world = new World(place, limits);
    dropped.clear();
    notificationsDropped = 0;
    watched = world;
    world.store = await place.open();
    world.store.write({ kind: 'session', record: recordOf(SESSION), at: Date.now() });
    world.buffer = world.bufferOn(world.store);
    for (const slot of [0, 1, 2]) await world.begin(slot);
    return world;
  }

  async play(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      await this.step(step);
      for (const { client } of this.threads) client.collect();
    }
  }

  /** Lets every client read to the end of its stream, and checks what it has had. */
  async finish(): Promise<void> {
    await this.flush();
    for (const thread of this.threads) {
      this.connect(thread);
      await this.flush();
      const { client } = thread;
      for (let i = 0; i < 2000 && client.sink?.open === true && client.sink.bufferedBytes > 0; i++) {
        client.sink.read();
      }
      client.collect();
      this.check(thread);
    }
    if (this.total.dropped !== notificationsDropped) this.violations.push('notifications went uncounted');
    await this.store.close();
    watched = undefined;
  }

  /** Called for each event that has to go, when it is gone. */
  lost(event: StoredEvent): void {
    const question = event.pinned && event.request === undefined;
    const others = this.threads.flatMap(({ stream }) => stream?.events ?? []);
    // Of open questions one goes only when the log consists of nothing else.
    if (question && others.some(({ pinned, request }) => !pinned || request !== undefined)) {
      this.violations.push('an open question went before something else');
    }
  }

  private async step(step: Step): Promise<void> {
    if (step.kind === 'flush') await this.flush();
    else if (step.kind === 'breathe') await new Promise((resolve) => setImmediate(resolve));
    else if (step.kind === 'expire') this.buffer.expire(Date.now() + this.limits.maxAgeMs + 1000);
    else if (step.kind === 'reopen') await this.reopen(step.how);
    else await this.say(step);
  }

  private async say(step: SlotStep): Promise<void> {
    const thread = this.slots[step.slot];
    if (thread === undefined) return;
    if (step.kind === 'connect') this.connect(thread);
    else if (step.kind === 'cut') thread.client.sink?.destroy();
    else if (step.kind === 'read') thread.client.sink?.read();
    else if (thread.ended) await this.begin(step.slot);
    else this.append(thread, step.kind, 'size' in step ? step.size : 1);
  }

  private append(thread: Thread, kind: 'append' | 'ask' | 'respond', size: number): void {
    const { stream, log, request } = thread;
    if (stream === undefined) return;
    const responds = kind === 'respond' && thread.kind === 'post';
    const data = JSON.stringify({ n: ++this.counter, fill: 'x'.repeat(size) });
    const is = responds ? 'response' : kind === 'ask' ? 'question' : 'notification';
    // Questions of a call that has ended are withdrawn.
    if (responds) for (const { event } of log) if (event.request === undefined) stream.unpin(event);
    const event = stream.append(data, {
      ...(is === 'question' && { pinned: true }),
      ...(responds && { request }),
    });
    log.push({ data, event, is, died: false });
    if (!responds) return;
    stream.settle(request, true);
    stream.finish();
    thread.ended = true;
  }

  private async begin(slot: number): Promise<void> {
    const kind = slot === 2 ? 'standalone' : 'post';
    const request = `"r${++this.counter}"`;
    const stream = this.buffer.open(kind, kind === 'post' ? [request] : []);
    const client = new ResumingClient();
    const thread: Thread = { kind, request, client, log: [], stream, ended: false };
    const sink = new PacedSink();
    client.connect(sink);
    stream.attach(sink, 0, true);
    this.threads.push(thread);
    this.slots[slot] = thread;
    if (kind === 'post') return;
    // What a client without an id has missed nobody can tell: this one has one.
    await this.flush();
    sink.read();
    client.collect();
  }

  /** The client comes back with the last id it knows, as to the endpoint of the gateway. */
  private connect({ client }: Thread): void {
    client.collect();
    if (client.cursor === '') return;
    const place = this.buffer.find(client.cursor);
    if (place === undefined) {
      this.violations.push(`an id that was given out is unknown: ${client.cursor}`);
      return;
    }
    const sink = new PacedSink();
    client.connect(sink);
    if (place.kind === 'found') {
      place.stream.attach(sink, place.after, false);
      return;
    }
    const stream = this.buffer.open('post', place.requests);
    stream.attach(sink, 0, true);
    for (const id of place.requests) stream.append(this.buffer.evictedError(id), { request: id });
    stream.finish();
  }

  private flush(): Promise<void> {
    return this.store.drained(PATIENCE_MS);
  }

  private bufferOn(store: Store): ReplayBuffer {
    const observer = { detached: () => undefined, attached: () => undefined };
    const home = { store, session: SESSION };
    const buffer = new ReplayBuffer(new EventIds(store.epoch), this.limits, this.total, observer, home);
    store.onLost = () => buffer.clear(false);
    return buffer;
  }

  private async reopen(how: Reopening): Promise<void> {
    const before = { store: this.store, buffer: this.buffer };
    if (how === 'closed') {
      // As a gateway that is stopped does.
      await this.flush();
      before.buffer.clear();
      await before.store.close();
    } else if (how === 'crashed') {
      this.place.crash(before.store);
      for (const { client } of this.threads) client.sink?.destroy();
    }
    const next = await this.place.open();
    if (how !== 'closed') await this.place.pronounceDead?.(before.store, next);
    const session = await loaded(next, SESSION);
    if (how === 'taken over') await this.outlive(before.store, before.buffer);
    this.store = next;
    this.buffer = this.bufferOn(next);
    for (const thread of this.threads) {
      thread.client.collect();
      const own = session.streams.find(({ id }) => id === thread.stream?.id);
      this.inherit(thread, new Set(own?.events.map(({ json }) => json)), how);
    }
    const recovered = session.streams.map((stored) => recoverStream(this.buffer, stored));
    for (const thread of this.threads) {
      thread.stream = recovered.find((log) => log?.id === thread.stream?.id);
      if (thread.kind === 'post') thread.ended = true;
    }
  }

  /** The old instance is not dead at all, and goes on: nothing it says after the session was taken may reach anybody. */
  private async outlive(store: Store, buffer: ReplayBuffer): Promise<void> {
    for (const { stream, ended } of this.threads) if (!ended) stream?.append('"too late"');
    await store.drained(PATIENCE_MS);
    buffer.clear(false);
    for (const { client } of this.threads) {
      client.sink?.read();
      client.collect();
      if (client.got.includes('"too late"'))
        this.violations.push('a process that lost the session was heard');
    }
    await store.close();
  }

  /** Compares what the store has of a stream with what was said and heard before its process ended. */
  private inherit({ client, log, stream }: Thread, survivors: ReadonlySet<string>, how: Reopening): void {
    const gone = dropped.get(stream?.id ?? -1) ?? new Set();
    const known = ({ data, event }: Entry) =>
      survivors.has(data) || client.got.includes(data) || gone.has(event.sequence);
    const last = log.findLastIndex(known);
    for (const [index, entry] of log.entries()) {
      if (client.got.includes(entry.data) && !survivors.has(entry.data) && !gone.has(entry.event.sequence)) {
        if (!entry.died) this.violations.push(`what a client was told is not in the store: ${entry.data}`);
      }
      if (index <= last || entry.died) continue;
      if (how === 'closed')
        this.violations.push(`lost although the store was closed properly: ${entry.data}`);
      entry.died = true;
    }
  }

  private check({ kind, request, client, log, ended, stream }: Thread): void {
    const { got, cursor } = client;
    if (cursor === '') {
      if (got.length > 0) this.violations.push('a client without an id was told something');
      return;
    }
    const errorFor = (code: number) =>
      got.filter((data) => data.includes(`"code":${code}`) && data.includes(`"id":${request}`));
    const errors = [...errorFor(-31003), ...errorFor(-31007)];
    const order = log.map(({ data }) => data);
    const events = got.filter((data) => !errors.includes(data));
    const expected = order.filter((data) => events.includes(data));
    if (JSON.stringify(events) !== JSON.stringify(expected)) {
      this.violations.push(`out of order, doubled or foreign: ${events.join()} of ${order.join()}`);
    }
    const gone = dropped.get(stream?.id ?? -1) ?? new Set();
    for (const { data, event, is, died } of log) {
      if (events.includes(data) || died) continue;
      if (!gone.has(event.sequence)) this.violations.push(`a ${is} is missing: ${data}`);
    }
    const responses = log.filter(({ data, is }) => is === 'response' && events.includes(data));
    const answers = errors.length + responses.length;
    if (kind === 'standalone' ? answers !== 0 : ended && answers !== 1) {
      this.violations.push(`${answers} answers to the request ${request}`);
    }
    const final = responses[0]?.data ?? errors[0];
    if (final !== undefined && got.at(-1) !== final) this.violations.push('something came behind the answer');
  }
}
