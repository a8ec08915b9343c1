import Link from 'next/link'

export const dynamic = 'force-dynamic'

export default function About() {
  return (
    <main>
      <h1>About</h1>
      <Link href="/">Home</Link>
    </main>
  )
}
