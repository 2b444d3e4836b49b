/**
 * The gateway's own JSON-RPC ids and progress tokens towards upstreams. Clients reuse theirs; nothing upstream may
 * depend on that, so every request gets a number no other request of this process has.
 */
let last = 0;

export function nextId(): string {
  last++;
  return String(last);
}
