/** The prices of a site, as its record and its bill name them. */
export const PRICES = ['price_per_gigabyte', 'price_per_thousand_requests', 'price_per_origin_second'] as const
