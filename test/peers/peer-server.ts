import type { Change } from './catalogue/fixture-tool.js';
import type { LoopbackEndpoint } from './loopback-endpoint.js';
import { PeerLog } from './peer-log.js';
import type { CancelledNotice, SeenRequest, ToolRun } from './peer-log.js';

/** What the peer servers of both eras offer to a test. */
export abstract class PeerServer {
  readonly log = new PeerLog();
  protected endpoint!: LoopbackEndpoint;

  get url(): string {
    return this.endpoint.url;
  }

  get port(): number {
    return this.endpoint.port;
  }

  /** The requests seen so far, oldest first. */
  get requests(): SeenRequest[] {
    return this.log.requests;
  }

  /** The `notifications/cancelled` seen so far; over HTTP a modern client sends them for subscriptions only. */
  get cancelled(): CancelledNotice[] {
    return this.log.cancelled;
  }

  /** Tool calls that were cancelled, or in the modern era disconnected, before their handler returned. */
  get aborted(): ToolRun[] {
    return this.log.aborted;
  }

  requestsFor(method: string): SeenRequest[] {
    return this.log.requestsFor(method);
  }

  /** Cuts every open connection, as a crash would. */
  dropConnections(): void {
    this.endpoint.dropConnections();
  }

  /** Announces a change to whoever listens: every legacy session, every modern subscription to its kind. */
  abstract announce(change: Change): Promise<void>;

  abstract close(): Promise<void>;
}
