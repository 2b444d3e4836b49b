import { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';

/** One HTTP request as it arrived, with the raw body text, so that a test can compare bytes. */
export interface SeenRequest {
  readonly httpMethod: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The parsed body; `undefined` when there was none or it was not JSON. */
  readonly message: any;
  /** The JSON-RPC method of a single message; `undefined` for responses, batches and GET. */
  readonly method: string | undefined;
  /** `performance.now()` at arrival, in milliseconds. */
  readonly at: number;
  /** The HTTP status, once the response is over. */
  status?: number;
  /** How the response ended; absent while it is still open. `dropped`: the other side closed first. */
  ended?: 'finished' | 'dropped';
}

/** A `notifications/cancelled` as the peer received it. */
export interface CancelledNotice {
  readonly requestId: string | number | undefined;
  readonly reason: string | undefined;
  readonly sessionId: string | undefined;
}

/** One run of a tool handler. */
export interface ToolRun {
  readonly name: string;
  readonly requestId: string | number;
  readonly sessionId: string | undefined;
  readonly args: unknown;
}

interface PeerEvents {
  request: [SeenRequest];
  ended: [SeenRequest];
  cancelled: [CancelledNotice];
  run: [ToolRun];
  aborted: [ToolRun];
  finished: [ToolRun];
}

/**
 * What a peer server saw. Arrays for assertions after the fact, events for tests that must wait for something:
 * `await once(server.log, 'aborted')`.
 */
export class PeerLog extends EventEmitter<PeerEvents> {
  readonly requests: SeenRequest[] = [];
  readonly cancelled: CancelledNotice[] = [];
  readonly runs: ToolRun[] = [];
  readonly aborted: ToolRun[] = [];
  readonly finished: ToolRun[] = [];

  noteRequest(request: SeenRequest): void {
    this.requests.push(request);
    this.emit('request', request);
    if (request.method === 'notifications/cancelled') {
      const notice: CancelledNotice = {
        requestId: request.message.params?.requestId,
        reason: request.message.params?.reason,
        sessionId: request.headers['mcp-session-id'] as string | undefined,
      };
      this.cancelled.push(notice);
      this.emit('cancelled', notice);
    }
  }

  noteEnd(request: SeenRequest): void {
    this.emit('ended', request);
  }

  noteRun(run: ToolRun): void {
    this.runs.push(run);
    this.emit('run', run);
  }

  noteAborted(run: ToolRun): void {
    this.aborted.push(run);
    this.emit('aborted', run);
  }

  noteFinished(run: ToolRun): void {
    this.finished.push(run);
    this.emit('finished', run);
  }

  /** The requests that carried this JSON-RPC method, oldest first. */
  requestsFor(method: string): SeenRequest[] {
    return this.requests.filter((request) => request.method === method);
  }
}
