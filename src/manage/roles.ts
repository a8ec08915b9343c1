/** What a member of an organisation may do, from the most to the least (contract 7). */
export const ROLES = ['owner', 'admin', 'member', 'viewer'] as const
export type Role = (typeof ROLES)[number]

/** Whether somebody with `has` may do what asks for `needed`. */
export const suffices = (has: Role, needed: Role): boolean => ROLES.indexOf(has) <= ROLES.indexOf(needed)
