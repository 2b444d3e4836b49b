import { crc32 } from 'node:zlib';

/** Notices a record that is not what was written; not one that was forged. */
export function checksum(text: string): number {
  return crc32(text);
}
