import { createPublicApp } from '../../api/app.js'
import { toNodeHandler } from '../../site/proxy/node-handler.js'
import type { Incoming, Outgoing } from '../../site/proxy/response-writer.js'
import type { Config } from '../config.js'
import type { Instance } from '../instance/instance.js'
import type { ServiceClient } from './public-listener.js'

/** Returns a function that answers requests under the base path with the parts of the service that `expose` names. */
export function createPublicService(
  instance: Pick<Instance, 'fetch' | 'hit'>,
  { expose, base_path }: Pick<Config, 'expose' | 'base_path'>,
) {
  const handle = toNodeHandler(
    {
      fetch: createPublicApp((request, peer) => instance.fetch(request, peer), expose),
      hit: (req, res, to) => instance.hit(req, res, to),
    },
    { basePath: base_path },
  )
  return (req: Incoming, res: Outgoing, { ip, scheme }: ServiceClient): void =>
    void handle(req, res, ip, { hop: { proto: scheme, trusted: false } })
}
