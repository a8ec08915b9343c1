export default function Layout({ children }) {
  return (
    <html lang="en">
      <head>
        <script defer src="/_readership/script.js?site=1" />
      </head>
      <body>{children}</body>
    </html>
  )
}
