/** The load: raw kept connections that write bytes made beforehand and look at no more of the answer than they must. */
import { performance } from 'node:perf_hooks';
import { RawConnection } from './raw-connection.mjs';
import { answerText, callText, initialize, legacyHead, modernHead, retryText } from './wire-text.mjs';
import { obey } from './child.mjs';

/** @typedef {{ port: number, path: string, era: 'legacy' | 'modern', tool: string, bytes: number, connections: number, total: number, count?: number, direct?: boolean }} Job */

const sessions = new Map();

async function sessionOf({ port, path, direct }) {
  // The upstreams take any session id.
  if (direct) return 'none';
  const key = `${port}${path}`;
  if (!sessions.has(key)) sessions.set(key, await initialize(port, path));
  return sessions.get(key);
}

/** Calls, one after the other on each connection. */
async function calls(job) {
  const session = job.era === 'legacy' ? await sessionOf(job) : undefined;
  let left = job.total;
  const times = [];
  let events = 0;
  const worker = async (index) => {
    const body = callText(job, index);
    const head =
      job.era === 'legacy' ? legacyHead(job.path, session, body) : modernHead(job.path, job.tool, body);
    const bytes = Buffer.from(head + body);
    const connection = await RawConnection.open(job.port);
    while (left > 0) {
      left--;
      const before = performance.now();
      const answer = await connection.send(bytes, job.tool === 'events');
      if (job.connections === 1) times.push(performance.now() - before);
      if (answer.status !== 200)
        throw new Error(`${job.path} answered ${answer.status}: ${answer.text?.slice(0, 500)}`);
      if (job.tool === 'events') {
        const seen = answer.text.split('"progress":').length - 1;
        if (seen !== job.count) throw new Error(`${seen} of ${job.count} events came through ${job.path}`);
        events += seen;
      }
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: job.connections }, (_, index) => worker(index + 1)));
  times.sort((a, b) => a - b);
  return { units: job.tool === 'events' ? events : job.total, p50: times[Math.floor(times.length / 2)] };
}

/** A body that may have come as one chunk. */
function jsonOf(text) {
  return text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1);
}

/** Calls during which the server asks one question. */
async function questions(job) {
  let left = job.total;
  const session = job.era === 'legacy' ? await sessionOf(job) : undefined;
  const worker = async (index) => {
    const connection = await RawConnection.open(job.port);
    const second = await RawConnection.open(job.port);
    const body = callText(job, index);
    while (left > 0) {
      left--;
      if (job.era === 'modern') {
        const asked = await connection.send(Buffer.from(modernHead(job.path, 'ask', body) + body), true);
        const retry = retryText(job, index, JSON.parse(jsonOf(asked.text)).result);
        const done = await connection.send(Buffer.from(modernHead(job.path, 'ask', retry) + retry), true);
        if (!done.text.includes('"content"')) throw new Error(`no result: ${done.text}`);
      } else {
        const answer = connection.send(Buffer.from(legacyHead(job.path, session, body) + body), true);
        const text = answerText(await connection.until(/"id":("[^"]*"|\d+),"method":"elicitation\/create"/));
        await second.send(Buffer.from(legacyHead(job.path, session, text) + text), false);
        const done = await answer;
        if (!done.text.includes('"content"')) throw new Error(`no result: ${done.text}`);
      }
    }
    connection.close();
    second.close();
  };
  await Promise.all(Array.from({ length: job.connections }, (_, index) => worker(index + 1)));
  return { units: job.total };
}

obey({
  run: async (job) => {
    const before = performance.now();
    const done = job.tool === 'ask' ? await questions(job) : await calls(job);
    return { ...done, ms: performance.now() - before };
  },
});
