import { Link } from 'react-router'

export default function Home() {
  return (
    <main>
      <h1>Hello from React Router</h1>
      <Link to="/about">About</Link>
    </main>
  )
}
