/** The clients of streams: thousands of sessions and raw connections that each hold one stream. */
import { performance } from 'node:perf_hooks';
import { RawConnection } from './raw-connection.mjs';
import { RawStream } from './raw-stream.mjs';
import {
  LISTEN_ACKNOWLEDGED,
  callText,
  deleteText,
  getText,
  initializeOn,
  legacyHead,
  listenText,
  modernHead,
  subscribeText,
} from './wire-text.mjs';
import { obey } from './child.mjs';

const WORKERS = 16;
const FIRST_COMMENT = /\r\n\r\n[\s\S]*:\n\n/;
const FIRST_ID = /\nid: (\S+)/;

let streams = [];
let sessions = [];
let arrival;

/** Runs something so many times, some of them at a time, each worker with a kept connection of its own. */
async function eachOf(total, port, run) {
  let next = 0;
  const worker = async () => {
    const connection = await RawConnection.open(port);
    while (next < total) await run(next++, connection);
    connection.close();
  };
  await Promise.all(Array.from({ length: Math.min(WORKERS, total) }, worker));
}

async function post(connection, text) {
  const answer = await connection.send(Buffer.from(text), true);
  if (answer.status >= 300) throw new Error(`answered ${answer.status}: ${answer.text}`);
  return answer;
}

/** @param {{ port: number, path: string, kind: 'bare' | 'legacy' | 'modern', count: number, uri?: string }} job */
async function open({ port, path, kind, count, uri }) {
  const before = streams.length;
  await eachOf(count, port, async (index, connection) => {
    if (kind === 'modern') {
      const request = listenText(path, before + index + 1);
      streams.push(await RawStream.open(port, request, new RegExp(LISTEN_ACKNOWLEDGED)));
      return;
    }
    const session = kind === 'legacy' ? await initializeOn(connection, path) : undefined;
    if (session !== undefined) sessions.push(session);
    streams.push(await RawStream.open(port, getText(path, session), FIRST_COMMENT));
    if (uri !== undefined) await post(connection, subscribeText(path, session, uri));
  });
  return streams.length;
}

/** Sessions without a stream. */
async function openSessions({ port, path, count }) {
  const before = performance.now();
  await eachOf(count, port, async (_, connection) => {
    sessions.push(await initializeOn(connection, path));
  });
  return performance.now() - before;
}

/** Ends the sessions opened last. */
async function endSessions({ port, path, count }) {
  const before = performance.now();
  const ending = sessions.splice(sessions.length - count);
  await eachOf(ending.length, port, async (index, connection) => {
    await post(connection, deleteText(path, ending[index]));
  });
  return performance.now() - before;
}

let met = 0;

/** A call from each of so many modern clients that nobody has met: each has a credential of its own. */
async function meet({ port, path, count }) {
  const before = performance.now();
  await eachOf(count, port, async (index, connection) => {
    met++;
    const body = callText({ era: 'modern', tool: 'small', bytes: 1 }, index + 1);
    await post(connection, modernHead(path, 'small', body, `secret-${met}`) + body);
  });
  return performance.now() - before;
}

function close() {
  for (const stream of streams) stream.close();
  streams = [];
  sessions = [];
}

/** Counts the streams on which a text arrives, from now on. */
function expect(marker) {
  arrival = new Promise((resolve) => {
    let left = streams.length;
    const arrived = () => {
      left--;
      if (left === 0) resolve(String(process.hrtime.bigint()));
    };
    for (const stream of streams) stream.expect(marker, arrived);
  });
}

/** Begins calls with many events and goes away from each with the id of its first event in hand. */
async function beginAway({ port, path, calls, count, waitMs }) {
  const away = [];
  await eachOf(calls, port, async (index, connection) => {
    const session = await initializeOn(connection, path);
    const body = callText({ era: 'legacy', tool: 'events', count, waitMs }, index + 1);
    const stream = await RawStream.open(port, legacyHead(path, session, body) + body, FIRST_ID);
    stream.close();
    away.push({ session, after: FIRST_ID.exec(stream.firstBytes)[1] });
  });
  return away;
}

/** Comes back for the events of those calls, one call after the other. */
async function resume({ port, path, away, count }) {
  const before = performance.now();
  for (const { session, after } of away) {
    const stream = await RawStream.open(port, getText(path, session, after), FIRST_COMMENT);
    const seen = await stream.count('"progress":', '"result":');
    stream.close();
    if (seen !== count) throw new Error(`${seen} of ${count} events were replayed`);
  }
  return performance.now() - before;
}

/** Receives the events of calls while they are produced, one call after the other. */
async function live({ port, path, calls, count }) {
  const connection = await RawConnection.open(port);
  const session = path === '/mcp' ? 'none' : await initializeOn(connection, path);
  const before = performance.now();
  for (let index = 0; index < calls; index++) {
    const body = callText({ era: 'legacy', tool: 'events', count }, index + 1);
    const { text } = await post(connection, legacyHead(path, session, body) + body);
    const seen = text.split('"progress":').length - 1;
    if (seen !== count) throw new Error(`${seen} of ${count} events arrived`);
  }
  connection.close();
  return performance.now() - before;
}

obey({
  open,
  openSessions,
  endSessions,
  meet,
  close,
  expect,
  arrived: () => arrival,
  beginAway,
  resume,
  live,
});
