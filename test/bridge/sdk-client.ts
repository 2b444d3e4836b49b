import { connectLegacyClient } from '../peers/legacy-client.js';
import { connectModernClient } from '../peers/modern-client.js';
import type { ClientHandlers, SeenNotification } from '../peers/question-handlers.js';
import type { Era } from '../peers/wire-client.js';

/** How a call reports and ends. */
export interface CallOptions {
  readonly onprogress?: (progress: any) => void;
  readonly signal?: AbortSignal;
}

/** The SDK client of either era, with one face: what both can do, under one name. */
export interface SdkClient {
  readonly era: Era;
  /** The SDK's own client, for what only one of the two can do. */
  readonly client: any;
  readonly notifications: SeenNotification[];
  readonly serverInfo: any;
  readonly instructions: string | undefined;
  readonly serverCapabilities: any;
  callTool(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<any>;
  listTools(cursor?: string): Promise<any>;
  listResources(cursor?: string): Promise<any>;
  listResourceTemplates(): Promise<any>;
  readResource(uri: string): Promise<any>;
  listPrompts(cursor?: string): Promise<any>;
  getPrompt(name: string, args?: Record<string, string>): Promise<any>;
  complete(params: any): Promise<any>;
  close(): Promise<void>;
}

/** Connects the SDK client of that era. */
export async function connectSdkClient(
  era: Era,
  url: string,
  handlers: ClientHandlers & { headers?: Record<string, string> } = {},
): Promise<SdkClient> {
  const { client, notifications, close } =
    era === 'legacy' ? await connectLegacyClient(url, handlers) : await connectModernClient(url, handlers);
  // The two SDKs differ in where the options of a call stand; everything else here they share.
  const any: any = client;
  const page = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor });
  return {
    era,
    client: any,
    notifications,
    serverInfo: any.getServerVersion(),
    instructions: any.getInstructions(),
    serverCapabilities: any.getServerCapabilities(),
    callTool: (name, args = {}, options = {}) => {
      const params = { name, arguments: args };
      return era === 'legacy' ? any.callTool(params, undefined, options) : any.callTool(params, options);
    },
    listTools: (cursor) => any.listTools(page(cursor)),
    listResources: (cursor) => any.listResources(page(cursor)),
    listResourceTemplates: () => any.listResourceTemplates(),
    readResource: (uri) => any.readResource({ uri }),
    listPrompts: (cursor) => any.listPrompts(page(cursor)),
    getPrompt: (name, args = {}) => any.getPrompt({ name, arguments: args }),
    complete: (params) => any.complete(params),
    close,
  };
}
