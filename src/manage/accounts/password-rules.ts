import { z } from 'zod'
import { ApiError } from '../../base/errors.js'

/** The most common passwords, without the digits and signs that people append to them. */
const COMMON_PASSWORDS = new Set(
  `password passwort motdepasse contrasena iloveyou qwertyuiop qwertyuiopasdfghjkl qwertzuiop azertyuiop asdfghjkl
  zxcvbnm qwerty letmein welcome welcometo changeme changeit football baseball basketball superman batman starwars
  princess sunshine trustno master dragon monkey shadow michael jennifer jordan charlie computer internet whatever
  administrator admin administrador letmeinnow passw0rd p@ssword p@ssw0rd pa$$word pa$$w0rd passphrase mypassword
  thisismypassword newpassword secret secretpassword supersecret iloveyousomuch abcdefgh abcdefghij abcdefghijkl
  abcdefghijklmnopqrstuvwxyz correcthorsebatterystaple google facebook linkedin samsung minecraft pokemon naruto
  liverpool manchester barcelona arsenal chelsea juventus realmadrid unitedstates qazwsx qazwsxedc qwaszx asdfasdf
  asdf asdfjkl aaaa test testing tester testtest default guest root toor analytics readership`.split(/\s+/),
)
/** Rows of the keyboard's digits, in either direction and repeated. */
const DIGIT_SEQUENCES = [
  '01234567890123456789',
  '12345678901234567890',
  '98765432109876543210',
  '0987654321',
  '1q2w3e4r5t6y7u8i9o0p',
]

function isCommon(password: string): boolean {
  const lower = password.toLowerCase()
  if (DIGIT_SEQUENCES.some((row) => row.startsWith(lower)) || new Set(lower).size <= 2) return true
  const stem = lower.replace(/^\P{L}+|\P{L}+$/gu, '')
  return COMMON_PASSWORDS.has(lower) || COMMON_PASSWORDS.has(stem)
}

/** Accepts a new password: long enough, of any characters (NIST SP 800-63B 3.1.1.2), and not a common one. */
export const NewPassword = z
  .string()
  .min(10, 'A password has at least 10 characters.')
  .max(200, 'A password has at most 200 characters.')
  .refine(
    (password) => !isCommon(password),
    'This password is too common: it is among the first that an attacker tries.',
  )

/** Accepts a password for sign-in; a longer one was never stored. */
export const Password = z.string().max(200, 'A password has at most 200 characters.')

/** Throws `validation_error` if the password is the account's own address or the part of it before the @. */
export function refuseAddressAsPassword(password: string, email: string): void {
  const lower = password.toLowerCase()
  if (lower === email || lower === email.slice(0, email.lastIndexOf('@')))
    throw new ApiError('validation_error', 'The password must not be your e-mail address.', 'password')
}
