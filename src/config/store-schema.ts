import { z } from 'zod';

const kind = <K extends string>(name: K, description: string) => z.literal(name).describe(description);

/** Where sessions and what can be replayed are kept. */
export const storeSchema = z
  .discriminatedUnion('kind', [
    z
      .strictObject({ kind: kind('memory', 'Keep everything in the process.') })
      .describe('Nothing outlives the process, and nothing is faster.'),
    z
      .strictObject({
        kind: kind('sqlite', 'Keep sessions and logs in a file.'),
        path: z
          .string()
          .min(1)
          .describe(
            'With `sqlite`: the database file, for this gateway alone; made when it does not exist. It holds what clients were sent, so its folder should be private. In a configuration file relative to the working directory.',
          ),
      })
      .describe('Survives a restart and a crash of the gateway. Needs the package better-sqlite3.'),
    z
      .strictObject({
        kind: kind('redis', 'Keep sessions and logs in Redis.'),
        url: z
          .string()
          .regex(/^rediss?:\/\/\S+$/, 'a URL that begins with redis:// or rediss://')
          .describe('With `redis`: the server.'),
        prefix: z
          .string()
          .regex(/^[\w:.-]{1,64}$/, '1 to 64 letters, digits, `_`, `:`, `.` or `-`')
          .default('mcp-gangway')
          .describe('With `redis`: begins the names of all keys.'),
      })
      .describe(
        'Survives a crash of the gateway, and with `cluster` another instance goes on with the sessions of one that died. Survives a crash of Redis as far as Redis is configured to. Needs the package redis.',
      ),
  ])
  .default({ kind: 'memory' })
  .describe('Where sessions of legacy clients and their replay logs are kept.');
