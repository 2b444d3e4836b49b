/** What both demo servers offer, and their answers to the methods that are the same in both eras. */
import type { DemoCall } from './tool.js';
import { DEMO_TOOLS } from './tools.js';

/** The capabilities of both demo servers, in the vocabulary the eras share. */
export const DEMO_CAPABILITIES = { tools: {}, resources: {}, prompts: {}, logging: {} } as const;

const RESOURCE = {
  uri: 'demo://gangway',
  name: 'gangway',
  title: 'What a gangway is',
  mimeType: 'text/plain',
} as const;

const RESOURCE_TEXT = 'A gangway lets people pass between a ship and the shore, whichever moves.\n';

const PROMPT = {
  name: 'greet',
  title: 'Greet somebody',
  description: 'Asks the model for a short greeting.',
  arguments: [{ name: 'name', description: 'Whom to greet', required: true }],
} as const;

/** The request names something that is not there; the eras have different codes for the kinds. */
export class DemoRefusal extends Error {
  constructor(
    readonly kind: 'invalidParams' | 'resourceNotFound',
    message: string,
    readonly uri?: string,
  ) {
    super(message);
    this.name = 'DemoRefusal';
  }
}

type Params = Readonly<Record<string, unknown>>;
type Answer = (params: Params, call: DemoCall) => object | Promise<object>;

const ANSWERS: Readonly<Record<string, Answer>> = {
  'tools/list': () => ({ tools: DEMO_TOOLS.map(({ definition }) => definition) }),
  'tools/call': ({ name, arguments: args = {} }, call) => {
    const tool = DEMO_TOOLS.find(({ definition }) => definition.name === name);
    if (tool === undefined) throw new DemoRefusal('invalidParams', `Unknown tool: ${String(name)}`);
    if (!isObject(args)) throw new DemoRefusal('invalidParams', 'arguments must be an object');
    return tool.run(args, call);
  },
  'resources/list': () => ({ resources: [RESOURCE] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'resources/read': ({ uri }) => {
    if (typeof uri !== 'string') throw new DemoRefusal('invalidParams', 'uri must be a string');
    if (uri !== RESOURCE.uri) throw new DemoRefusal('resourceNotFound', 'Resource not found', uri);
    return { contents: [{ uri, mimeType: RESOURCE.mimeType, text: RESOURCE_TEXT }] };
  },
  'prompts/list': () => ({ prompts: [PROMPT] }),
  'prompts/get': ({ name, arguments: args }) => {
    const who = isObject(args) ? args['name'] : undefined;
    if (name !== PROMPT.name) throw new DemoRefusal('invalidParams', `Unknown prompt: ${String(name)}`);
    if (typeof who !== 'string') throw new DemoRefusal('invalidParams', 'Missing required argument: name');
    const text = `Please greet ${who} in one friendly sentence.`;
    return { description: PROMPT.description, messages: [{ role: 'user', content: { type: 'text', text } }] };
  },
};

/**
 * The result of one request; undefined when there is no such method.
 * @throws DemoRefusal, at once or later, for the server to put into its era's error
 */
export function demoAnswer(
  method: string,
  params: Params,
  call: DemoCall,
): object | Promise<object> | undefined {
  return Object.hasOwn(ANSWERS, method) ? ANSWERS[method]?.(params, call) : undefined;
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
