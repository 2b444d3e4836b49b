import { type Random, KEYS, jsonValue } from './random.js';
import { KEY, LEGACY, MODERN } from '../peers/wire-client.js';

/** One request as bytes, with what a checker must know of it. */
export interface RandomRequest {
  readonly bytes: Buffer;
  readonly abortAt?: number;
  /** It may open a stream that stays. */
  readonly headOnly: boolean;
  /** The bytes are no HTTP: an answer is a courtesy. */
  readonly brokenHttp: boolean;
  /** The raw id of a request whose body was sent as printed; the answer must carry it or none. */
  readonly id: string | undefined;
}

const METHODS = [
  'tools/call',
  'tools/call',
  'tools/call',
  'tools/list',
  'prompts/get',
  'resources/read',
  'resources/list',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'logging/setLevel',
  'ping',
  'initialize',
  'server/discover',
  'subscriptions/listen',
  'tasks/get',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'vendor/thing',
  'vendor/ünï\r\nX: y',
  '',
  '__proto__',
  'constructor',
] as const;

/** Tools the doubles know; see `fuzz.test.ts`. */
const TOOLS = [
  'echo',
  'stream',
  'ask',
  'fail',
  'no such tool',
  '__proto__',
  'a\r\nX-Evil: 1',
  'ünï',
] as const;

const IDS = [
  '1',
  '0',
  '-7',
  '1.0',
  '1e3',
  '1e400',
  '9007199254740993',
  '"0"',
  '""',
  '"a b"',
  '"\\u0000\\ud800"',
  '"ünï"',
  '"__proto__"',
] as const;

const WRONG_IDS = ['null', 'true', '[]', '{}', '[1]', '{"id":1}'] as const;

/** Makes requests of all kinds against live and unknown sessions. */
export class RequestMaker {
  constructor(
    private readonly random: Random,
    /** `Mcp-Session-Id`s that are, or were, good. */
    private readonly sessions: readonly string[],
  ) {}

  /** Which era the present message mostly looks like. */
  private modern = false;

  make(): RandomRequest {
    const { random } = this;
    this.modern = random.chance(0.5);
    const roll = random.next();
    if (roll < 0.04)
      return this.withoutBody(random.pick(['GET', 'DELETE', 'PUT', 'HEAD', 'OPTIONS', 'PATCH']));
    if (roll < 0.05) return this.brokenHttp();
    const message = this.message();
    const { method } = message;
    let body: Buffer = Buffer.from(message.text);
    let { id } = message;
    if (random.chance(0.3)) {
      body = this.mutated(message.text);
      id = undefined;
    }
    const lines = this.headerLines(message);
    if (!random.chance(0.01)) lines.push(`Content-Length: ${body.length}`);
    else lines.push('Transfer-Encoding: chunked');
    const chunked = lines.at(-1)?.startsWith('Transfer') === true;
    const payload = chunked
      ? Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')])
      : body;
    const bytes = Buffer.concat([
      Buffer.from(`POST /mcp HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`),
      payload,
    ]);
    return {
      bytes,
      // An empty body sent in chunks would end them early.
      brokenHttp: chunked && body.length === 0,
      headOnly: method === 'subscriptions/listen' || method === undefined,
      id,
      ...(random.chance(0.03) && { abortAt: random.below(bytes.length) }),
    };
  }

  private withoutBody(method: string): RandomRequest {
    const lines = ['Host: localhost', 'Accept: text/event-stream', ...this.sessionLine()];
    if (this.random.chance(0.5)) {
      lines.push(`Last-Event-ID: ${this.random.pick(['', '1', 'x.1.1.1', 'a'.repeat(500), '../../etc'])}`);
    }
    const bytes = Buffer.from(`${method} /mcp HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    // The answer to HEAD has a length and no body, which this client cannot read on.
    const aborted = method === 'HEAD' && { abortAt: bytes.length };
    return { bytes, headOnly: true, brokenHttp: false, id: undefined, ...aborted };
  }

  private brokenHttp(): RandomRequest {
    const { random } = this;
    const texts = [
      'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nabcde',
      'POST /mcp HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n',
      'POST /mcp HTTP/9.9\r\n\r\n',
      `GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: ${'a'.repeat(50_000)}\r\n\r\n`,
      random.bytes(1 + random.below(200)).toString('latin1') + '\r\n\r\n',
    ];
    return {
      bytes: Buffer.from(random.pick(texts), 'latin1'),
      headOnly: true,
      brokenHttp: true,
      id: undefined,
    };
  }

  private message(): { text: string; method: string | undefined; id: string | undefined; name: string } {
    const { random } = this;
    const method = random.pick(METHODS);
    const name = random.pick(TOOLS);
    const members: string[] = [];
    const add = (key: string, value: string): void => {
      members.push(`${JSON.stringify(key)}:${value}`);
      if (random.chance(0.01)) members.push(`${JSON.stringify(key)}:${jsonValue(random)}`);
    };
    add('jsonrpc', random.chance(0.96) ? '"2.0"' : jsonValue(random));
    let id: string | undefined;
    const notification = method.startsWith('notifications/') && random.chance(0.8);
    if (!notification && random.chance(0.95)) {
      const right = random.chance(0.93);
      const raw = right ? random.pick(IDS) : random.pick(WRONG_IDS);
      id = right ? raw : undefined;
      add('id', raw);
    }
    const kind = random.next();
    if (kind < 0.9) {
      const right = random.chance(0.97);
      add('method', right ? JSON.stringify(method) : jsonValue(random));
      if (random.chance(0.95))
        add('params', random.chance(0.9) ? this.params(method, name) : jsonValue(random));
    } else if (kind < 0.95) {
      add('result', jsonValue(random));
    } else if (kind < 0.99) {
      add('error', random.chance(0.5) ? '{"code":-1,"message":"no"}' : jsonValue(random));
    }
    if (random.chance(0.1)) add(random.pick(KEYS), jsonValue(random));
    // Answers are matched by id only where the id is the only one.
    const single = members.filter((member) => member.startsWith('"id":')).length === 1;
    return {
      text: `{${members.join(',')}}`,
      method: kind < 0.9 ? method : undefined,
      id: single ? id : undefined,
      name,
    };
  }

  private params(method: string, name: string): string {
    const { random } = this;
    const members: string[] = [];
    if (method === 'initialize') {
      members.push(`"protocolVersion":${random.chance(0.8) ? `"${LEGACY}"` : jsonValue(random)}`);
      members.push(`"capabilities":${random.chance(0.7) ? this.capabilities() : jsonValue(random)}`);
      members.push(`"clientInfo":${random.chance(0.8) ? '{"name":"f","version":"1"}' : jsonValue(random)}`);
    } else if (random.chance(0.9)) {
      members.push(`"name":${random.chance(0.95) ? JSON.stringify(name) : jsonValue(random)}`);
      members.push(`"uri":${random.chance(0.95) ? JSON.stringify(`test://${name}`) : jsonValue(random)}`);
      members.push(`"arguments":${jsonValue(random)}`);
    }
    if (this.modern || random.chance(0.3))
      members.push(`"_meta":${random.chance(0.95) ? this.meta() : jsonValue(random)}`);
    if (random.chance(0.3)) {
      members.push(`${JSON.stringify(random.pick(KEYS))}:${jsonValue(random)}`);
    }
    return `{${members.join(',')}}`;
  }

  private meta(): string {
    const { random } = this;
    const members: string[] = [];
    const add = (key: string, value: string): void => {
      if (!random.chance(0.01)) members.push(`"${key}":${random.chance(0.98) ? value : jsonValue(random)}`);
    };
    if (this.modern || random.chance(0.1)) {
      add(KEY.protocolVersion, random.chance(0.95) ? `"${MODERN}"` : '"2099-01-01"');
      add(KEY.clientInfo, '{"name":"f","version":"1"}');
      add(KEY.clientCapabilities, this.capabilities());
      if (random.chance(0.1)) add(KEY.logLevel, '"debug"');
    }
    if (random.chance(0.3)) add('progressToken', random.pick(IDS));
    if (random.chance(0.1)) members.push(`"__proto__":${jsonValue(random)}`);
    return `{${members.join(',')}}`;
  }

  private capabilities(): string {
    return this.random.pick([
      '{}',
      '{"elicitation":{}}',
      '{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{"listChanged":true}}',
      '{"elicitation":5,"sampling":null,"roots":[]}',
      '{"__proto__":{"elicitation":{}}}',
    ]);
  }

  private sessionLine(): string[] {
    const { random, sessions } = this;
    if (sessions.length > 0 && random.chance(0.93)) return [`Mcp-Session-Id: ${random.pick(sessions)}`];
    return random.chance(0.5) ? ['Mcp-Session-Id: no-such-session'] : [];
  }

  private headerLines(message: { method: string | undefined; name: string }): string[] {
    const { random } = this;
    const lines = ['Host: localhost', 'Content-Type: application/json'];
    lines.push('Accept: application/json, text/event-stream');
    const drop = (): void => void lines.splice(1 + random.below(lines.length - 1), 1);
    if (random.chance(0.05)) drop();
    const method = message.method ?? 'x';
    if (random.chance(0.95) ? this.modern : random.chance(0.5)) {
      lines.push(`MCP-Protocol-Version: ${MODERN}`);
      lines.push(`Mcp-Method: ${headerValue(method)}`);
      const name = method === 'resources/read' ? `test://${message.name}` : message.name;
      if (/^(tools\/call|prompts\/get|resources\/read)$/.test(method))
        lines.push(`Mcp-Name: ${headerValue(name)}`);
      if (random.chance(0.05)) drop();
    } else {
      lines.push(...this.sessionLine());
      if (random.chance(0.8)) lines.push(`MCP-Protocol-Version: ${LEGACY}`);
    }
    if (random.chance(0.15)) lines.push(random.pick(ODD_HEADERS));
    if (random.chance(0.03)) lines.push(random.pick(lines));
    if (random.chance(0.1)) lines.push(`Authorization: Bearer ${random.pick(['a', 'b', '', ','])}`);
    return lines;
  }

  private mutated(text: string): Buffer {
    const { random } = this;
    const bytes = Buffer.from(text);
    switch (random.below(11)) {
      case 0:
        return bytes.subarray(0, random.below(bytes.length + 1));
      case 1: {
        const at = random.below(bytes.length);
        return Buffer.concat([bytes.subarray(0, at), random.bytes(1 + random.below(8)), bytes.subarray(at)]);
      }
      case 2:
        return Buffer.from(`[${text}${random.chance(0.5) ? `,${text}` : ''}]`);
      case 3:
        return Buffer.from(`${text}${random.pick([text, ' ', '}', ',', '\0', '\n\n'])}`);
      case 4: {
        const depth = random.pick([10, 511, 513, 50_000]);
        const nested = '['.repeat(depth) + ']'.repeat(depth);
        return Buffer.from(text.replace(/\}$/, `,"x":${nested}}`));
      }
      case 5:
        return Buffer.from(text.replace(/\}$/, `,"x":"${'y'.repeat(random.below(100_000))}"}`));
      case 6:
        return Buffer.from(
          random.pick(['', ' ', '[]', '{}', 'null', '0', '""', '[1,2]', '[[]]', '\u{feff}{}']),
        );
      case 7:
        return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]);
      case 8:
        return Buffer.from(text.replace('{', `{"${random.pick(['id', 'method', 'params', 'jsonrpc'])}":1,`));
      case 9:
        return Buffer.from(jsonValue(random));
      default: {
        const copy = Buffer.from(bytes);
        if (copy.length > 0) copy[random.below(copy.length)] = random.below(256);
        return copy;
      }
    }
  }
}

const ODD_HEADERS = [
  'Mcp-Name: =?base64?!!!?=',
  'Mcp-Name: =?base64?gICA?=',
  'Mcp-Method: tools/list',
  'Mcp-Param-X: =?base64?w7w?=',
  'Mcp-Param-__proto__: 1',
  '__proto__: 1',
  'MCP-Protocol-Version: draft',
  'MCP-Protocol-Version: 2024-11-05',
  'Origin: https://evil.example',
  'Origin: http://localhost',
  'Content-Encoding: gzip',
  'Content-Type: text/plain',
  'Accept: text/html',
  'Accept: */*',
  'Host: evil.example',
  'Expect: 100-continue',
  'Cookie: a=b',
  'Last-Event-ID: 1',
  'traceparent: 00-0-0-0',
  'Mcp-Name: \u00fc',
] as const;

function headerValue(value: string): string {
  return /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value)
    ? value
    : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
