/**
 * The reason that came with a cancellation; undefined when none did.
 * @see /specification/2025-11-25/basic/utilities/cancellation#cancellation-flow
 */
export function statedReason(signal: AbortSignal): string | undefined {
  const reason: unknown = signal.reason;
  return typeof reason === 'string' ? reason : undefined;
}
