/** The arrays of a delivery; `hits` came in at the sidecar's own tracker endpoint. */
export type RowList = 'agent_events' | 'events' | 'hits'

/** The reason why an observation is not shipped, in the words of the store's drop reasons. */
export type UnshippedReason = 'not_a_page' | 'prefetch' | 'opted_out' | 'fault'
