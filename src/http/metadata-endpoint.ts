import type { Endpoints } from './endpoints.js';
import type { HttpOptions } from './options.js';
import { refusal } from './refusal.js';
import type { ResponseReply } from './reply.js';

/**
 * The path under which clients look for the metadata of a protected resource; the resource's own path follows it.
 * @see https://www.rfc-editor.org/rfc/rfc9728.html#section-3.1
 */
export const METADATA_PATH = '/.well-known/oauth-protected-resource';

/**
 * Answers a request for protected resource metadata.
 * @param path - the request's path, which starts with `METADATA_PATH`
 * @throws GatewayError 404 where there is none, 405 for anything but GET
 */
export async function answerMetadata(
  path: string,
  method: string,
  endpoints: Endpoints,
  options: Pick<HttpOptions, 'protectedResource'>,
  reply: ResponseReply,
): Promise<void> {
  const resource = path.slice(METADATA_PATH.length);
  const upstream = resource === '' || resource === '/' ? endpoints.standard : endpoints.at(resource);
  if (options.protectedResource === undefined || upstream === undefined) {
    throw refusal(404, 'There is no protected resource metadata at this path.');
  }
  if (method !== 'GET') throw refusal(405, 'Metadata is read with GET.', { Allow: 'GET' });
  const { status, body, headers } = await options.protectedResource(upstream);
  reply.json(status, body, headers);
}
