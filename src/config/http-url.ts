import { z } from 'zod';

/**
 * An absolute http or https URL. Credentials are refused because URLs end up in logs and reports, a fragment
 * because it is never sent.
 */
export function httpUrl(description: string) {
  return z
    .string()
    .refine(isPlainHttpUrl, 'an absolute http or https URL without user name, password or fragment')
    .meta({ format: 'uri' })
    .describe(description);
}

/** Whether `text` is an absolute http(s) URL with neither credentials nor a fragment. */
export function isPlainHttpUrl(text: string): boolean {
  // The URL parser silently drops line breaks, tabs and outer spaces and repairs "http:host" or "http:\\host".
  if (!/^https?:\/\/[^\s\\/?#]/i.test(text) || /[\s#]/.test(text) || !URL.canParse(text)) return false;
  const url = new URL(text);
  return url.username === '' && url.password === '' && !/^https?:\/\/[^/?]*@/i.test(text);
}
