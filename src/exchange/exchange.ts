/**
 * The seam between the two sides of the gateway: one neutral interaction, of which each protocol revision
 * implements two half-adapters. A downstream half opens exchanges, an upstream half runs them, and neither
 * knows which revision is on the other side.
 */
import type { Principal } from '../auth/principal.js';
import type { Message, RawId } from '../jsonrpc/message.js';
import type { ChangeFilter } from './change-filter.js';
import type { Ended } from './ending.js';
import type { Outcome } from './outcome.js';
import type { Probe } from './probe.js';
import type { Answer, Question } from './question.js';

/** The two families of revisions: with an `initialize` handshake and sessions, or stateless with per-request `_meta`. */
export type Era = 'legacy' | 'modern';

/** What the client says of itself, in the words of the protocol; JSON members are kept as text. */
export interface ClientDescription {
  /** The protocol revision this client is served with. Opaque to everything but the adapters. */
  readonly revision: string;
  /** JSON text of the client's `Implementation` object. */
  readonly clientInfo?: string;
  /** JSON text of the client's `ClientCapabilities` object. */
  readonly capabilities: string;
  /** Minimum level of log messages the client wants; absent when it has not asked for any. */
  readonly logLevel?: string;
}

/** On whose behalf something is done. */
export interface Caller {
  readonly principal: Principal;
  /** The `Authorization` header to use upstream. Lives in memory only. */
  readonly authorization?: string;
  /** The peer's address; caps for anonymous callers count by it. */
  readonly remoteAddress: string;
  /** The client's session, when its era has sessions. */
  readonly conversation?: Conversation;
}

/** A client's session as the other side sees it: an identity, an end (in this process at least), and a way to say what belongs to no request. */
export interface Conversation extends Ended {
  /** Unique in this process; not the session id, which is a secret of the client. */
  readonly key: string;
  /** The session has ended here but goes on elsewhere or later: what it has at the upstream stays. */
  readonly suspended: boolean;
  /** What `rememberUpstream` was last given, perhaps by an earlier run of the gateway. */
  readonly upstreamState: string | undefined;
  /**
   * Keeps with the session what the upstream half needs to find the upstream's side of it again: any text, but never a
   * credential.
   */
  rememberUpstream(state: string): void;
  /** Delivers a notification that belongs to no exchange, on the session's standalone stream. */
  notify(message: Message): void;
  /** Puts a question that belongs to no exchange to the client, on the session's standalone stream. */
  ask(question: Question, signal: AbortSignal): Promise<Answer>;
  /** Ends the session: the upstream lost the state behind it, and the client must learn so. */
  end(reason: string): void;
}

/** One client request on its way through the gateway. */
export interface Exchange {
  /** The client's era. */
  readonly era: Era;
  /** The client's request, verbatim, with reserved `_meta` keys of its own era only. */
  readonly message: Message;
  readonly method: string;
  /** The client's id for this request, verbatim. */
  readonly id: RawId;
  readonly client: ClientDescription;
  readonly caller: Caller;
  /** Request headers that may travel on: trace context and `Mcp-Param-*` nobody here recognises. */
  readonly headers: Readonly<Record<string, string>>;
  /** Aborted when the client cancels (in its era's way). A lost connection of a legacy client is no cancellation. */
  readonly signal: AbortSignal;
  /** Calls back once when `signal` is aborted, at once when it is: without making one, for what waits for hours. */
  onCancel(listener: () => void): void;
  /** The client's progress token, verbatim, when it asked for progress. */
  readonly progressToken: RawId | undefined;
  /** Tells that the upstream committed to a stream: a downstream that can resume may commit to one too. */
  begin(): void;
  /**
   * Passes a notification of this exchange on to the client; in order, and before the outcome. Progress carries
   * the client's own token already. Returns false when the client reads too slowly: pause until `onReady`.
   */
  notify(message: Message): boolean;
  /** Calls back once when a client that read too slowly has caught up or gone. */
  onReady(listener: () => void): void;
  /** Puts questions to the client and waits for all answers. An aborted signal withdraws them. */
  ask(questions: readonly Question[], signal: AbortSignal): Promise<readonly Answer[]>;
}

/** What a client says when it arrives: `initialize`, or the `_meta` of its first request. */
export interface Introduction {
  readonly era: Era;
  readonly client: ClientDescription;
  readonly caller: Caller;
  readonly headers: Readonly<Record<string, string>>;
  /** The client's own `initialize` or `server/discover` request, when it sent one. */
  readonly message?: Message;
}

/** What the upstream says of itself. */
export interface ServerDescription {
  /** The upstream's era. */
  readonly era: Era;
  /** The InitializeResult or DiscoverResult message, verbatim. */
  readonly message: Message;
}

/** An open subscription to an upstream's changes. */
export interface Watch {
  /** The part of the filter that the upstream really serves. */
  readonly honoured: ChangeFilter;
  /** Calls back once when the upstream has ended it, and never after `close`. */
  onLost(listener: () => void): void;
  close(): void;
}

/** News of finished URL elicitations. */
export interface Completions {
  /** Whether there is a stream they can come on just now. */
  readonly live: boolean;
  stop(): void;
}

/** An upstream of one era, as the core sees it. */
export interface UpstreamHalf {
  readonly era: Era;
  /** Finds out whether the upstream is of this era. Never throws. */
  probe(introduction: Introduction): Promise<Probe>;
  /** Introduces a client, or answers from what the upstream said to this credential before. @throws GatewayError */
  introduce(introduction: Introduction): Promise<ServerDescription>;
  /** Runs one request. Never throws. */
  run(exchange: Exchange): Promise<Outcome>;
  /** Sends a notification that belongs to no request. @throws GatewayError */
  notify(from: Introduction, message: Message): Promise<void>;
  /** Opens whatever carries messages that belong to no request, for a client with a session. */
  attach(from: Introduction): void;
  /**
   * Watches for changes on behalf of a client of the other era. Resolves once it is settled what can arrive.
   * @throws GatewayError
   */
  watch(from: Introduction, filter: ChangeFilter, onChange: (change: Message) => void): Promise<Watch>;
  /**
   * Hears of finished URL elicitations on behalf of a client of the other era. Undefined when there is nothing to hear
   * them on, or when the upstream's era has no such news.
   */
  hearCompletions(from: Introduction, onComplete: (elicitationId: string) => void): Completions | undefined;
  /** Whether the upstream opens such a carrier; undefined when its era has none, or when that cannot be told. */
  offersStream(from: Introduction): Promise<boolean | undefined>;
  /** Ends everything this half holds open. */
  close(): Promise<void>;
}

/** The core as a downstream half sees it: any upstream, whatever its era, in the words of the client's era. */
export interface Relay {
  /** The name of the upstream in the configuration. */
  readonly name: string;
  /** Introduces a client; resolves once the upstream has accepted this credential. @throws GatewayError */
  introduce(introduction: Introduction): Promise<ServerDescription>;
  /** Runs a request. Never throws: every failure is an outcome. */
  run(exchange: Exchange): Promise<Outcome>;
  /** Passes on a notification that belongs to no request. @throws GatewayError */
  notify(from: Introduction, message: Message): Promise<void>;
  /** Asks the upstream for messages that belong to no request; called when the session's standalone stream opens. */
  attach(from: Introduction): void;
}
