import type { UpstreamReport } from '../upstreams/report.js';
import { offers } from './offer.js';

/** One thing a client can count on, or must do without. */
export interface Finding {
  topic: string;
  text: string;
}

/** What one kind of client gets from an upstream through the gateway. */
export interface ClientOutlook {
  /** `relayed` when client and server are of one era, else `translated`. */
  path: 'relayed' | 'translated';
  works: Finding[];
  lost: Finding[];
}

export interface Compatibility {
  legacy: ClientOutlook;
  modern: ClientOutlook;
}

/** What works and what is lost for clients of each era; undefined while the era of the upstream is unknown. */
export function compatibility(report: UpstreamReport): Compatibility | undefined {
  switch (report.era) {
    case 'legacy':
      return { legacy: legacyToLegacy(report), modern: modernToLegacy(report) };
    case 'modern':
      return { legacy: legacyToModern(report), modern: modernToModern() };
    default:
      return undefined;
  }
}

const RESUME: Finding = {
  topic: 'broken connections',
  text: 'a call runs on, and its events and result are replayed to the client that comes back',
};

function legacyToLegacy(report: UpstreamReport): ClientOutlook {
  const lost: Finding[] = [];
  if (report.offersGetStream === false) {
    lost.push({
      topic: 'messages outside calls',
      text: 'the server opens no stream for them; this is so without the gateway too',
    });
  }
  return {
    path: 'relayed',
    works: [{ topic: 'everything the server offers', text: 'payloads pass unchanged' }, RESUME],
    lost,
  };
}

function modernToModern(): ClientOutlook {
  return {
    path: 'relayed',
    works: [
      { topic: 'everything the server offers', text: 'payloads pass unchanged, requestState byte for byte' },
      { topic: 'state', text: 'none is kept in the gateway' },
    ],
    lost: [],
  };
}

function legacyToModern(report: UpstreamReport): ClientOutlook {
  const offer = offers(report);
  const works: Finding[] = [
    { topic: 'sessions', text: 'initialize, ping and the session are answered by the gateway' },
    ...features(report),
    {
      topic: 'questions',
      text: 'elicitation, sampling and roots reach the client as requests on the stream of the call',
    },
    { topic: 'progress and cancelling', text: 'under the tokens and ids of the client' },
    RESUME,
  ];
  const lost: Finding[] = [];
  if (offer.tools) {
    works.push({
      topic: 'structured results',
      text: 'one that is no object, or whose schema is none, is wrapped as {"result": …}, schema included',
    });
    lost.push({
      topic: 'badly annotated tools',
      text: 'a tool whose x-mcp-header annotation is invalid is left out of the list',
    });
  }
  if (offer.changes) {
    works.push({
      topic: 'change notifications',
      text: 'arrive on the GET stream, from one upstream subscription for many sessions',
    });
  }
  if (offer.logging) {
    works.push({
      topic: 'log messages',
      text: 'logging/setLevel is kept per session and sent with each request',
    });
  }
  lost.push({ topic: 'cache hints', text: 'ttlMs and cacheScope have no place in the legacy era' });
  lost.push({
    topic: 'clients of older revisions',
    text: 'are not asked what their revision cannot ask, and get audio and links as text where it has none',
  });
  if (offer.tasks) lost.push({ topic: 'tasks', text: 'not translated yet; tools are called without them' });
  if (offer.extensions.length > 0) {
    lost.push({
      topic: 'extensions',
      text: `${offer.extensions.join(', ')}: carried, except for results of types that only the extension knows`,
    });
  }
  return { path: 'translated', works, lost };
}

function modernToLegacy(report: UpstreamReport): ClientOutlook {
  const offer = offers(report);
  const works: Finding[] = [
    { topic: 'discovery', text: 'server/discover is answered from what the server said to initialize' },
    ...features(report),
    {
      topic: 'questions',
      text: 'elicitation, sampling and roots come as input_required; the retry continues the same call',
    },
    { topic: 'progress and cancelling', text: 'closing the stream cancels the call in the server' },
    {
      topic: 'state between calls',
      text: 'the gateway keeps one session per credential and client (anonymous clients: on loopback only)',
    },
  ];
  const lost: Finding[] = [
    {
      topic: 'broken connections',
      text: 'the call is cancelled, as the modern era wants it; a call that waits for answers is kept',
    },
    { topic: 'caching', text: 'the server gives no hints, so every result counts as stale at once' },
  ];
  if (offer.changes) {
    if (report.offersGetStream === false) {
      lost.push({
        topic: 'change notifications',
        text: 'the server opens no stream that could bring them, so a subscription is acknowledged with nothing',
      });
    } else {
      works.push({
        topic: 'change notifications',
        text: 'subscriptions/listen is served from one stream and reference-counted subscriptions',
      });
    }
  }
  if (offer.logging) {
    works.push({ topic: 'log messages', text: 'of a call, when the request carries a log level' });
    lost.push({ topic: 'log messages outside calls', text: 'have no request to belong to and are dropped' });
  }
  lost.push({
    topic: 'questions outside calls',
    text: 'go to the one call that can be asked, or wait for one, and are refused after a while',
  });
  if (offer.tasks) {
    lost.push({ topic: 'tasks', text: 'not translated yet; a tool that requires a task cannot be called' });
  }
  return { path: 'translated', works, lost };
}

/** What both eras have, in the same words. */
function features(report: UpstreamReport): Finding[] {
  const offer = offers(report);
  const found: Finding[] = [];
  if (offer.tools) found.push({ topic: 'tools', text: 'list and call' });
  if (offer.resources) found.push({ topic: 'resources', text: 'list, templates and read' });
  if (offer.prompts) found.push({ topic: 'prompts', text: 'list and get' });
  if (offer.completions) found.push({ topic: 'completion', text: 'of prompt and template arguments' });
  return found;
}
