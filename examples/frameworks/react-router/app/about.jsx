import { Link } from 'react-router'

export default function About() {
  return (
    <main>
      <h1>About</h1>
      <Link to="/">Home</Link>
    </main>
  )
}
