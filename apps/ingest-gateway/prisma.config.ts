import { defineConfig } from 'prisma/config';

// Prisma is used only as a typed client: migrations are plain SQL, so no database URL is needed.
export default defineConfig({ schema: 'prisma/schema.prisma' });
