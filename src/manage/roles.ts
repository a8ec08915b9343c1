/** What a member of an organisation may do, from the most to the least (contract 7). */
export const ROLES = ['owner', 'admin', 'member', 'viewer'] as const
export type Role = (typeof ROLES)[number]

/** Whether somebody with `has` may do what asks for `needed`. */
export const includesRole = (has: Role, needed: Role): boolean => ROLES.indexOf(has) <= ROLES.indexOf(needed)

/**
 * Whether somebody with `has` may make what a member is, `from`, into `to`, which is undefined for one who goes; `self`:
 * it is themselves. Everybody may go or become less; an admin decides about all but owners; nobody gives more than they
 * have.
 */
export function canAssignRole(has: Role, self: boolean, from: Role, to: Role | undefined): boolean {
  if (to !== undefined && !includesRole(has, to)) return false
  return self || (includesRole(has, 'admin') && includesRole(has, from))
}
