/** What clients of the two eras write. */
import { RawConnection } from './raw-connection.mjs';

const KEY = 'io.modelcontextprotocol/';
const META = `"${KEY}protocolVersion":"2026-07-28","${KEY}clientInfo":{"name":"bench","version":"1"},"${KEY}clientCapabilities":{"elicitation":{}}`;
const COMMON =
  'Host: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n';

export function legacyHead(path, session, body) {
  return `POST ${path} HTTP/1.1\r\n${COMMON}Mcp-Session-Id: ${session}\r\nMCP-Protocol-Version: 2025-11-25\r\nContent-Length: ${body.length}\r\n\r\n`;
}

export function modernHead(path, tool, body) {
  return `POST ${path} HTTP/1.1\r\n${COMMON}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: ${tool}\r\nContent-Length: ${body.length}\r\n\r\n`;
}

/** A `tools/call` with an argument of so many bytes. */
export function callText({ era, tool, bytes, count }, id, extra = '') {
  const meta = [
    ...(era === 'modern' ? [META] : []),
    ...(count === undefined ? [] : [`"progressToken":${id}`]),
  ].join(',');
  const argument = count === undefined ? `"text":"${'x'.repeat(bytes)}"` : `"count":${count}`;
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
  const params =
    '{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"bench","version":"1"}}';
  const body = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":${params}}`;
  const head = `POST ${path} HTTP/1.1\r\n${COMMON}Content-Length: ${body.length}\r\n\r\n`;
  const { head: answered } = await connection.send(Buffer.from(head + body), true);
  const session = /mcp-session-id: (\S+)/i.exec(answered)?.[1];
  if (session === undefined) throw new Error(`no session: ${answered}`);
  const note = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
  await connection.send(Buffer.from(legacyHead(path, session, note) + note), true);
  connection.close();
  return session;
}
