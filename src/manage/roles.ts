/** The roles of an organisation's members, from the most rights to the fewest. */
export const ROLES = ['owner', 'admin', 'member', 'viewer'] as const
export type Role = (typeof ROLES)[number]

/** Reports whether `role` includes the rights of `needed`. */
export const includesRole = (role: Role, needed: Role): boolean => ROLES.indexOf(role) <= ROLES.indexOf(needed)

/**
 * Reports whether a member with `role` may change a member from `from` to `to`; `to` is undefined when the member leaves,
 * `self` when both are the same person. Everyone may leave or lower their own role; an admin decides about all but owners;
 * a role above one's own cannot be given.
 */
export function canAssignRole(role: Role, self: boolean, from: Role, to: Role | undefined): boolean {
  if (to !== undefined && !includesRole(role, to)) return false
  return self || (includesRole(role, 'admin') && includesRole(role, from))
}
