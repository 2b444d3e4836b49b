import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type { ServerDescription } from '../../../src/exchange/exchange.js';
import { Draft } from '../../../src/jsonrpc/draft.js';
import { memberOf, stringValue } from '../../../src/jsonrpc/json-scan.js';
import type { RawId } from '../../../src/jsonrpc/message.js';
import { printResult } from '../../../src/jsonrpc/print.js';
import { initializeResultFromDiscover } from '../../../src/translation/server-description.js';
import { isLegacyRevision } from '../revisions.js';

/**
 * The response to `initialize`: a legacy upstream's own words, or a modern one's description in legacy words.
 * @returns the text, and the revision the client is served with from now on
 * @throws GatewayError the upstream negotiated a revision nobody here serves
 * @see /specification/2025-11-25/basic/lifecycle#version-negotiation
 */
export function initializeResponse(
  id: RawId,
  description: ServerDescription,
  wanted: string,
): { text: string; revision: string } {
  const { message } = description;
  if (description.era === 'legacy') {
    const revision = stringValue(message.text, memberOf(message.result?.object, 'protocolVersion'));
    if (!isLegacyRevision(revision)) {
      throw new GatewayError(
        GATEWAY_CODE.upstreamProtocol,
        'the upstream negotiated an unknown protocol version',
        {
          status: 502,
        },
      );
    }
    const draft = new Draft(message.text);
    draft.set(message.root, 'id', id);
    return { text: draft.print(), revision };
  }
  const result = initializeResultFromDiscover(message, {
    protocolVersion: wanted,
    services: { subscribe: true, listChanged: true },
  });
  return { text: printResult(id, result), revision: wanted };
}
