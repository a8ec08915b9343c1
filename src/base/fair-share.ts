/**
 * Bounds what is open at once. A tenant may have as many as are still free: alone it gets half, the next one half of the
 * rest, so that one tenant never takes everybody's.
 */
export function createFairShare(total: number) {
  const open = new Map<number, number>()
  let all = 0
  return {
    /** Counts one more of a tenant and returns the function that ends it; undefined if the tenant's share is used up. */
    enter(tenant: number): (() => void) | undefined {
      const own = open.get(tenant) ?? 0
      if (own >= total - all) return undefined
      const add = (n: number) => {
        all += n
        const left = (open.get(tenant) ?? 0) + n
        if (left > 0) open.set(tenant, left)
        else open.delete(tenant)
      }
      add(1)
      let isOpen = true
      return () => {
        if (isOpen) add(-1)
        isOpen = false
      }
    },
  }
}
