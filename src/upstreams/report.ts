/**
 * What one look at an upstream showed: which era it speaks, why the gateway thinks so, and what it offers.
 * Made by `inspectUpstream`, printed by `mcp-gangway check`.
 */
export interface UpstreamReport {
  url: string;
  /** `unknown` when nothing it answered is evidence: unreachable, refusing credentials, overloaded. */
  era: 'legacy' | 'modern' | 'unknown';
  /** Each observation that led to the verdict, in the order made, as a sentence without secrets. */
  evidence: string[];
  /** The revisions both sides know, best first; empty when the era is unknown. */
  versions: string[];
  serverInfo?: { name: string; version: string };
  /** The server's capabilities as it sent them, in the vocabulary of its own era. */
  capabilities?: Record<string, unknown>;
  /** Whether a legacy upstream opens a stream on GET; absent when not tried or when the era has none. */
  offersGetStream?: boolean;
  /** Why the era is unknown, or why the look ended early. `code` is a closed, stable word or a JSON-RPC code. */
  error?: { code: string | number; message: string };
}
