import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { StreamableHTTPClientTransportOptions } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { ClientCapabilities } from '@modelcontextprotocol/sdk/types.js';
import type { ClientHandlers, SeenNotification } from './question-handlers.js';

export interface LegacyClientOptions extends ClientHandlers {
  readonly name?: string;
  /** Declared at `initialize`; derived from the handlers given when absent. */
  readonly capabilities?: ClientCapabilities;
  readonly headers?: Record<string, string>;
  readonly transport?: StreamableHTTPClientTransportOptions;
}

export interface LegacyClient {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
  /** Log messages, changes and elicitation completions, in order of arrival; progress goes to `onprogress`. */
  readonly notifications: SeenNotification[];
  /** Ends the session with DELETE and closes the connection. */
  close(): Promise<void>;
}

const COLLECTED = [
  LoggingMessageNotificationSchema,
  ToolListChangedNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ElicitationCompleteNotificationSchema,
];

/** Connects an SDK v1 client: `initialize` and the standalone GET stream included. */
export async function connectLegacyClient(
  url: string,
  options: LegacyClientOptions = {},
): Promise<LegacyClient> {
  const capabilities = options.capabilities ?? {
    ...(options.onElicit && { elicitation: { form: { applyDefaults: true }, url: {} } }),
    ...(options.onSample && { sampling: {} }),
    ...(options.onRoots && { roots: { listChanged: true } }),
  };
  const client = new Client({ name: options.name ?? 'legacy-client', version: '1.0.0' }, { capabilities });
  const { onElicit, onSample, onRoots } = options;
  if (onElicit)
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => (await onElicit(params)) as any);
  if (onSample) {
    client.setRequestHandler(
      CreateMessageRequestSchema,
      async ({ params }) => (await onSample(params)) as any,
    );
  }
  if (onRoots) client.setRequestHandler(ListRootsRequestSchema, async () => (await onRoots()) as any);
  const notifications: SeenNotification[] = [];
  for (const schema of COLLECTED) {
    client.setNotificationHandler(schema as any, (notification: any) => {
      const seen = { method: notification.method, params: notification.params };
      notifications.push(seen);
      options.onNotification?.(seen);
    });
  }
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    ...options.transport,
    ...(options.headers && { requestInit: { headers: options.headers } }),
  });
  await client.connect(transport);
  return {
    client,
    transport,
    notifications,
    close: async () => {
      await transport.terminateSession().catch(() => undefined);
      await client.close();
    },
  };
}
