/** What clients of the two eras write. */
import { RawConnection } from './raw-connection.mjs';

const KEY = 'io.modelcontextprotocol/';
const META = `"${KEY}protocolVersion":"2026-07-28","${KEY}clientInfo":{"name":"bench","version":"1"},"${KEY}clientCapabilities":{"elicitation":{}}`;
const COMMON =
  'Host: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n';

export function legacyHead(path, session, body) {
  return `POST ${path} HTTP/1.1\r\n${COMMON}Mcp-Session-Id: ${session}\r\nMCP-Protocol-Version: 2025-11-25\r\nContent-Length: ${body.length}\r\n\r\n`;
}

export function modernHead(path, tool, body, token) {
  const own = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
  return `POST ${path} HTTP/1.1\r\n${COMMON}${own}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: ${tool}\r\nContent-Length: ${body.length}\r\n\r\n`;
}

/** A `tools/call` with an argument of so many bytes. */
export function callText({ era, tool, bytes, count, waitMs }, id, extra = '') {
  const meta = [
    ...(era === 'modern' ? [META] : []),
    ...(count === undefined ? [] : [`"progressToken":${id}`]),
  ].join(',');
  const wait = waitMs === undefined ? '' : `,"waitMs":${waitMs}`;
  const argument = count === undefined ? `"text":"${'x'.repeat(bytes)}"` : `"count":${count}${wait}`;
  const last = meta === '' ? '' : `,"_meta":{${meta}}`;
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${tool}","arguments":{${argument}}${extra}${last}}}`;
}

/** The call again, with the answer to what was asked. */
export function retryText(job, id, { inputRequests, requestState }) {
  const [key] = Object.keys(inputRequests);
  const responses = JSON.stringify({ [key]: { action: 'accept', content: {} } });
  return callText(job, id, `,"inputResponses":${responses},"requestState":${JSON.stringify(requestState)}`);
}

/** The answer to a question, given the match of its id. */
export function answerText([, id]) {
  return `{"jsonrpc":"2.0","id":${id},"result":{"action":"accept","content":{}}}`;
}

/** Opens a legacy session; resolves with its id. */
export async function initialize(port, path) {
  const connection = await RawConnection.open(port);
  const session = await initializeOn(connection, path);
  connection.close();
  return session;
}

/** Opens a legacy session over a connection that is kept; resolves with its id. */
export async function initializeOn(connection, path) {
  const params =
    '{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"bench","version":"1"}}';
  const body = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":${params}}`;
  const head = `POST ${path} HTTP/1.1\r\n${COMMON}Content-Length: ${body.length}\r\n\r\n`;
  const { head: answered, text } = await connection.send(Buffer.from(head + body), true);
  const session = /mcp-session-id: (\S+)/i.exec(answered)?.[1];
  if (session === undefined) throw new Error(`no session: ${answered} ${text}`);
  const note = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
  await connection.send(Buffer.from(legacyHead(path, session, note) + note), true);
  return session;
}

export const SUBSCRIPTION_ID = `${KEY}subscriptionId`;
export const LISTEN_ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';

/** A GET for a stream; `after` is an event id to go on behind. */
export function getText(path, session, after) {
  const own =
    session === undefined ? '' : `Mcp-Session-Id: ${session}\r\nMCP-Protocol-Version: 2025-11-25\r\n`;
  const last = after === undefined ? '' : `Last-Event-ID: ${after}\r\n`;
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n${own}${last}\r\n`;
}

/** A whole POST of a modern client that subscribes to changes of the list of tools. */
export function listenText(path, id) {
  const params = `{"notifications":{"toolsListChanged":true},"_meta":{${META}}}`;
  const body = `{"jsonrpc":"2.0","id":${id},"method":"subscriptions/listen","params":${params}}`;
  return `POST ${path} HTTP/1.1\r\n${COMMON}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** A whole POST of a session that subscribes to a resource. */
export function subscribeText(path, session, uri) {
  const body = `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"${uri}"}}`;
  return legacyHead(path, session, body) + body;
}

/** A whole DELETE of a session. */
export function deleteText(path, session) {
  return `DELETE ${path} HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: ${session}\r\nMCP-Protocol-Version: 2025-11-25\r\n\r\n`;
}
